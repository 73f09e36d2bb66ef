"""Tests in several processes at once: ``python -P tests/support/processes.py 2 -q -m "not slow"`` is pytest, twice.

Each process collects all tests, begins at a place of its own and takes file after file, leaving those that another has
taken. Nothing is sent from one to another: with pytest-xdist, whose workers report each test to a process that prints
it, 1,500 short tests took 62 s of processor time, 47 in one process without it, and 54 to 58 in two like this.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

PLACE = "CODEC_SUPERB_TEST_PROCESS"
"""``1/2 FOLDER`` for the first of two processes and the folder that they share; not set where there is one process."""


class Shared:
    """What the processes of one run share: a folder, and which of them runs a file."""

    def __init__(self, place: str) -> None:
        number, folder = place.split(" ", 1)
        self.index, self.count = (int(word) for word in number.split("/"))
        self.folder = Path(folder)
        self._mine: dict[Path, bool] = {}

    def in_turn(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Order tests by file, beginning where this process begins."""
        files = list(dict.fromkeys(item.path for item in items))
        first = len(files) * (self.index - 1) // self.count
        turn = {path: place for place, path in enumerate(files[first:] + files[:first])}
        return sorted(items, key=lambda item: turn[item.path])

    def run(self, session: pytest.Session) -> bool:
        """Run the tests whose files this process takes, as pytest's own loop runs all."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors while tests were collected")
        mine = (item for item in session.items if self.takes(item.path))
        item = None if session.config.option.collectonly else next(mine, None)
        while item is not None:
            # what the next test does not share is torn down, so it must be known now
            following = next(mine, None)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            item = following
        return True

    def takes(self, path: Path) -> bool:
        """Whether this process runs the tests of a file: the first that comes to it does."""
        if path not in self._mine:
            name = self.folder / hashlib.sha256(str(path).encode()).hexdigest()
            try:
                name.touch(exist_ok=False)
                self._mine[path] = True
            except FileExistsError:
                self._mine[path] = False
        return self._mine[path]


def shared() -> Shared | None:
    """Return what this process shares with others; None where it is the only one."""
    place = os.environ.get(PLACE)
    return Shared(place) if place else None


def main(count: int, arguments: Sequence[str]) -> int:
    """Run the processes; print what the first says as it comes, and then what the others said."""
    folder = tempfile.mkdtemp(prefix="tests-")
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        outputs = [None, *(stack.enter_context(tempfile.TemporaryFile()) for _ in range(1, count))]
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "pytest", f"--basetemp={folder}/process-{number}", *arguments],
                env=os.environ | {PLACE: f"{number}/{count} {folder}"},
                stdout=output,
                stderr=output and subprocess.STDOUT,
            )
            for number, output in enumerate(outputs, start=1)
        ]
        code = max(process.wait() for process in started)
        for output in outputs[1:]:
            output.seek(0)
            sys.stdout.flush()
            shutil.copyfileobj(output, sys.stdout.buffer)
        if code:
            print(f"the folders of the tests are in {folder}")
        else:
            shutil.rmtree(folder)
        return code
    return 130


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
