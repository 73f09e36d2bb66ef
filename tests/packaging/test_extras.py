"""Extras install nothing where they have no wheel: `make demo` asks for `lyra` on every machine."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from codec_superb.base_codec import registry

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
(LITERT,) = map(Requirement, PROJECT["optional-dependencies"]["lyra"])
LINUX, MAC, WINDOWS = "linux", "darwin", "win32"
WHEELS = {(LINUX, "x86_64"), (LINUX, "aarch64"), (MAC, "arm64"), (WINDOWS, "AMD64")}
"""Systems of the wheels of ai-edge-litert 2.3.0 on PyPI, each for CPython 3.10 to 3.14."""


@pytest.mark.parametrize("python", ["3.11", "3.14", "3.15"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "arm64", "AMD64", "i686", "armv7l", "riscv64"])
@pytest.mark.parametrize("system", [LINUX, MAC, WINDOWS])
def test_litert_is_asked_for_where_it_has_a_wheel(system: str, machine: str, python: str) -> None:
    """On other systems, processors and newer Pythons the extra is empty, and the demo leaves Lyra out."""
    assert LITERT.marker is not None
    here = {"sys_platform": system, "platform_machine": machine, "python_version": python}
    expected = (system, machine) in WHEELS and python != "3.15"
    assert LITERT.marker.evaluate(here | {"platform_python_implementation": "CPython"}) == expected
    assert not LITERT.marker.evaluate(here | {"platform_python_implementation": "PyPy"})


def test_one_version_of_litert_everywhere() -> None:
    """Extra, constraints and card ask for the version whose tokens were checked."""
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE))
    assert str(LITERT.specifier) == f"=={pins[LITERT.name]}"
    assert registry.card("lyra_6k").requirements == (f"{LITERT.name}{LITERT.specifier}",)


def test_the_demo_and_the_tests_install_it() -> None:
    """Both environments have Lyra's package where there is one."""
    assert re.search(r"-e '\.\[probes,lyra\]'", (ROOT / "Makefile").read_text())
    assert "codec-superb[lyra]" in PROJECT["optional-dependencies"]["dev"]
