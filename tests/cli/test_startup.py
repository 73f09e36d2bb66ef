"""Starting must be quick: packages stay out until a command needs them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"torch", "transformers", "plotly", "scipy.signal", "pyarrow", "av", "numba", "soundfile", "soxr", "datasets",
         "fastapi", "sqlalchemy", "uvicorn", "pydantic_settings"}  # fmt: skip
OUT_OF_HELP = {
    *HEAVY,
    "numpy",
    "scipy",
    "pydantic",
    "yaml",
    "rich",
    "jinja2",
    "requests",
    "packaging",
    "importlib.metadata",
}
LISTINGS = [["codecs", "list"], ["codecs", "show", "opus_12k"], ["datasets", "list"], ["applications"]]
PROGRAM = """
import json, sys
import codec_superb
alone = sorted(sys.modules)
from codec_superb.cli.main import call
codes = [call(arguments) for arguments in json.loads(sys.argv[1])]
print("MODULES", json.dumps([codes, alone, sorted(sys.modules)]))
"""


def _modules(calls: list[list[str]]) -> tuple[str, set[str], set[str]]:
    """Return what calls in a new process print, and the modules there before and after them; all must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(calls)], capture_output=True, text=True, check=True
    )
    printed, _, told = done.stdout.rpartition("MODULES ")
    codes, alone, after = json.loads(told)
    assert codes == [0] * len(calls), done.stderr
    return printed, set(alone), set(after)


@pytest.mark.sample(2, among="commands that lack packages")
def test_listings_import_nothing_heavy() -> None:
    """Listings read data only."""
    _, _, after = _modules(LISTINGS)
    assert not HEAVY & after


@pytest.mark.sample(2, among="commands that lack packages")
def test_help_imports_typer_alone() -> None:
    """Help needs none of the packages that compute, validate or draw; it lists commands with whole summaries."""
    groups = [[], ["codecs"], ["codecs", "env"], ["admin"], ["admin", "token"]]
    commands = [["bench"], ["probe"], ["serve"], ["datasets", "prepare"], ["doctor"], ["tokens", "export"]]
    printed, alone, after = _modules([["--version"], *([*words, "--help"] for words in (*groups, *commands))])
    assert not OUT_OF_HELP & after
    assert not [line for line in printed.splitlines() if line.startswith("  ") and line.endswith("...")]
    order = [
        word
        for line in printed.partition("Commands:")[2].splitlines()
        if (word := line[2:3].strip() and line.split()[0])
    ]
    assert order[:7] == ["bench", "resynth", "score", "import", "probe", "report", "compare"]
    assert "((" not in printed
    assert not {*OUT_OF_HELP, "typer", "typing"} & alone  # `import codec_superb` is little more than an interpreter
