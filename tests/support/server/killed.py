"""Commands that die at their n-th step: a statement or commit of the database, or a change of a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine.default import DefaultDialect

from codec_superb.cli.main import call

DIED = 77
"""Exit code of a command that died."""
_CHANGES = frozenset({"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.chmod"})
Run = Callable[[int, Sequence[str]], tuple[int, int]]


@contextmanager
def dying(folder: Path) -> Iterator[Run]:
    """Give a function that runs a command, has it die at a step (0: none), and returns its exit code and its steps.

    Steps are those of the database and of files below ``folder``. Each runs in a fork of one new process.
    """
    program = [sys.executable, "-m", __name__, str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        given, answers = process.stdin, process.stdout

        def run(step: int, arguments: Sequence[str]) -> tuple[int, int]:
            given.write(json.dumps([step, *arguments]) + "\n")
            given.flush()
            code, steps = map(int, answers.readline().split())
            return code, steps

        yield run
        given.close()


class _Steps:
    """Counts the steps of a process, which ends at one of them."""

    def __init__(self, last: int, folder: str) -> None:
        self.done, self._last, self._folder = 0, last, folder
        commit = DefaultDialect.do_commit

        def counted(dialect: DefaultDialect, connection: Any) -> None:
            self._count()
            commit(dialect, connection)
            self._count()

        event.listen(Engine, "before_cursor_execute", self._count)
        DefaultDialect.do_commit = counted  # type: ignore[method-assign]
        sys.addaudithook(self._change)

    def _count(self, *_: object) -> None:
        self.done += 1
        if self.done == self._last:
            os._exit(DIED)  # no handler runs, as behind SIGKILL

    def _change(self, name: str, arguments: tuple[object, ...]) -> None:
        if name in _CHANGES and str(arguments[0]).startswith(self._folder):
            self._count()


def _main(folder: str) -> None:
    for name in ("moderation.service", "operations.backup", "operations.preparation"):
        import_module(f"codec_superb.server.{name}")  # once for all forks
    quiet = os.open(os.devnull, os.O_WRONLY)
    for line in sys.stdin:
        step, *arguments = json.loads(line)
        told, tells = os.pipe()
        if not (pid := os.fork()):
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            steps = _Steps(step, folder)
            code = call(arguments)
            os.write(tells, str(steps.done).encode())
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(tells)
        print(code, os.read(told, 100).decode() or step, flush=True)
        os.close(told)


if __name__ == "__main__":
    _main(sys.argv[1])
