"""The tests themselves in two processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import processes

CONFTEST = """
from support import processes

def pytest_addoption(pluginmanager):
    pluginmanager.register(processes)
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
    if {ends} and number == 2:
        os._exit(7)
    assert not ({fails} and number == 1), "it is broken"
"""


def run(folder: Path, fails: tuple[int, ...] = (), ends: tuple[int, ...] = ()) -> tuple[int, list[str]]:
    """Run six files of three tests in two processes; return the exit status and what was printed."""
    (folder / "conftest.py").write_text(CONFTEST)
    for number in range(6):
        text = MODULE.format(log=str(folder / "log"), fails=number in fails, ends=number in ends)
        (folder / f"test_{number}.py").write_text(text)
    path = str(Path(processes.__file__).parents[1])
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", ".", "--processes", "2", "-q", "."]
    environment = {"PYTHONPATH": path, "HOME": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)
    return ended.returncode, ended.stdout.splitlines()


def test_each_file_runs_once_and_a_failure_of_either_is_told(tmp_path: Path) -> None:
    """Two processes share the files and run each test once; what fails is told."""
    code, lines = run(tmp_path, fails=(0, 5))
    ran = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert sorted((name, number) for name, number, _ in ran) == [
        (f"test_{n}", str(k)) for n in range(6) for k in range(3)
    ]
    assert len({process for *_, process in ran}) == 2
    assert all(len({process for name, _, process in ran if name == f"test_{n}"}) == 1 for n in range(6))
    assert code == 1, lines
    assert sorted(line for line in lines if line.startswith("FAILED")) == [
        f"FAILED test_{n}.py::test_runs[1] - AssertionError: it is broken" for n in (0, 5)
    ]


def test_a_process_that_ends_by_itself_is_no_success(tmp_path: Path) -> None:
    """The file in the middle is where the second process begins."""
    code, lines = run(tmp_path, ends=(3,))
    assert code == 1, lines
    assert "another process of the tests ended with 7" in lines
