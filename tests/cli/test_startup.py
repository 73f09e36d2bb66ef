"""Starting must be quick: the heavy packages stay out until a command needs them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ["torch", "transformers", "plotly", "scipy.signal", "pyarrow", "av", "numba", "soundfile", "soxr", "datasets",
         "fastapi", "sqlalchemy", "uvicorn", "pydantic_settings"]  # fmt: skip
PROGRAM = """
import json, sys
from codec_superb.cli.main import call
code = call(json.loads(sys.argv[1]))
print("MODULES", json.dumps([code, sorted(sys.modules)]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["codecs", "list"],
        ["codecs", "show", "opus_12k"],
        ["datasets", "list"],
        ["applications"],
        ["probe", "--help"],
        ["bench", "--help"],
        ["admin", "--help"],
        ["serve", "--help"],
    ],
)
def test_imports_nothing_heavy(arguments: list[str]) -> None:
    """Help and listings read data only."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments)], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout.rsplit("MODULES ", 1)[1])
    assert code == 0
    assert not set(HEAVY) & set(modules)
