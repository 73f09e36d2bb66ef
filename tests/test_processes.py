"""The tests themselves in two processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import processes

CONFTEST = """
from support.processes import pytest_addoption, pytest_runtestloop, tell as pytest_terminal_summary
"""
MODULE = """
import os
import time
from pathlib import Path
import pytest

@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("here")

@pytest.mark.parametrize("number", range(3))
def test_runs(number, folder):
    with Path({log!r}).open("a") as log:
        log.write(f"{{Path(__file__).stem}} {{number}} {{os.getpid()}}\\n")
    time.sleep(0.05)  # the other process takes a file meanwhile
    assert not ({fails} and number == 1), "it is broken"
"""


def test_each_file_runs_once_and_a_failure_of_either_is_told(tmp_path: Path) -> None:
    """Two processes share the files and run each test once; what fails is told."""
    log = tmp_path / "log"
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text(MODULE.format(log=str(log), fails=number in (0, 5)))
    path = str(Path(processes.__file__).parents[1])
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", ".", "--processes", "2", "-q", "."]
    environment = {"PYTHONPATH": path, "HOME": str(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    ran = [line.split() for line in log.read_text().splitlines()]
    assert sorted((name, number) for name, number, _ in ran) == [
        (f"test_{n}", str(k)) for n in range(6) for k in range(3)
    ]
    assert len({process for *_, process in ran}) == 2
    assert all(len({process for name, _, process in ran if name == f"test_{n}"}) == 1 for n in range(6))
    assert ended.returncode == 1, ended.stdout
    assert sorted(line for line in ended.stdout.splitlines() if line.startswith("FAILED")) == [
        f"FAILED test_{n}.py::test_runs[1] - AssertionError: it is broken" for n in (0, 5)
    ]
