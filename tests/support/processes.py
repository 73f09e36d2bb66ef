"""Tests in several processes at once: ``pytest --processes 2`` collects them once and forks.

Each process begins at a place of its own and takes file after file, leaving those that another has taken. Nothing is
sent from one to another: with pytest-xdist, whose workers report each test to a process that prints it, 1,500 short
tests took 62 s of processor time, 47 in one process without it, and 54 to 58 in two that each collected them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pytest

PROCESSES = pytest.StashKey["Processes"]()
FORKED: dict[int, BinaryIO] = {}
"""The processes that this one has forked, and the files of what they print."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the number of processes."""
    parser.addoption("--processes", type=int, default=1, metavar="N", help="run the tests in N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in several processes, where these are asked for and all tests were collected."""
    config = session.config
    if config.option.processes < 2 or config.option.collectonly or session.testsfailed:
        return None
    config.stash[PROCESSES] = Processes(config.option.processes, config._tmp_path_factory.getbasetemp())
    config.stash[PROCESSES].run(session)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep how the tests of this process ended."""
    if processes := session.config.stash.get(PROCESSES, None):
        processes.code = int(session.exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Let a forked process end here, as those of multiprocessing do.

    Libraries that end would wait for their threads, which a fork does not have: glibc then ends with a fault.
    """
    processes = config.stash.get(PROCESSES, None)
    if processes and processes.number:
        sys.stdout.flush()
        os._exit(processes.code)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the other processes printed."""
    if processes := terminalreporter.config.stash.get(PROCESSES, None):
        terminalreporter.write(processes.told())


class Processes:
    """The processes of one run: which of them runs a file, and what the forked ones said."""

    def __init__(self, count: int, folder: Path) -> None:
        self.count, self.folder = count, folder
        self.number = self.code = 0
        self._mine: dict[Path, bool] = {}
        self._ends: list[int] = []

    def run(self, session: pytest.Session) -> None:
        """Fork the others and run the tests whose files this process takes, as pytest's own loop runs all."""
        self._fork(session.config)
        try:
            self._run(session)
        except BaseException:
            for process in FORKED:
                os.kill(process, signal.SIGINT)
            raise
        finally:
            for process in FORKED:
                _, status = os.waitpid(process, 0)
                if status:
                    session.testsfailed += 1
                    self._ends.append(os.waitstatus_to_exitcode(status))
        if FORKED and not session.testsfailed:
            # pytests beside this one clear up what is old there, too
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, session: pytest.Session) -> None:
        mine = (item for item in self._in_turn(session.items) if self._takes(item.path))
        item = next(mine, None)
        while item is not None:
            # what the next test does not share is torn down, so it must be known now
            following = next(mine, None)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            item = following

    def told(self) -> str:
        """Return what the forked processes printed."""
        text = ""
        for output in FORKED.values():
            output.seek(0)
            text += output.read().decode(errors="replace")
            output.close()
        return text + "".join(f"\nanother process of the tests ended with {code}\n" for code in self._ends)

    def _fork(self, config: pytest.Config) -> None:
        """Fork: what a process prints from there on goes to a file, which the first prints at the end."""
        sys.stdout.flush()
        for number in range(1, self.count):
            output = tempfile.TemporaryFile()  # noqa: SIM115 - it is read at the end
            process = os.fork()
            if process:
                FORKED[process] = output
                continue
            self.number = number
            FORKED.clear()
            capture = config.pluginmanager.getplugin("capturemanager")
            capture.stop_global_capturing()
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            output.close()
            capture.start_global_capturing()
            capture.suspend_global_capture()
            return

    def _in_turn(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Order tests by file, beginning where this process begins."""
        files = list(dict.fromkeys(item.path for item in items))
        first = len(files) * self.number // self.count
        turn = {path: place for place, path in enumerate(files[first:] + files[:first])}
        return sorted(items, key=lambda item: turn[item.path])

    def _takes(self, path: Path) -> bool:
        """Whether this process runs the tests of a file: the first that comes to it does."""
        if path not in self._mine:
            name = self.folder / f"{hashlib.sha256(str(path).encode()).hexdigest()}.taken"
            try:
                name.touch(exist_ok=False)
                self._mine[path] = True
            except FileExistsError:
                self._mine[path] = False
        return self._mine[path]
