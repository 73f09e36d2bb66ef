"""Backend ``command``: a program of the user's that reads questions and writes answers, as lines of JSON.

``command:PATH`` starts the program once. For each question it gets one line on standard input, a JSON object with
``text`` (what was heard), ``title`` and ``context``, and writes one line to standard output: a JSON object with
``answer``, which may be ``No Answer``; or with ``error``, which fails that clip.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from codec_superb.applications.errors import ApplicationError, MissingModel, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Model, Prediction, SecondStage, Setting, TextQuestion
from codec_superb.applications.model_files import sha256_of
from codec_superb.applications.text.answers import answer_of_json

NAME = "command"
TIMEOUT_S = 120.0
"""Seconds for one answer, the first of which includes the program's start."""
SETTLE_S = 0.02
"""Seconds after an answer in which a second line of a program that prints two is seen before the next question."""
MAX_LINE = 1 << 20
"""Bytes of an answer."""
DEATHS = 3
"""Questions in a row over which the program may die, hang or be out of step; then the stage ends."""


class CommandReader(SecondStage):
    """Asks a program; one that dies or hangs over a question costs that clip, and is started again."""

    timeout_s: float = TIMEOUT_S
    _program: _Program | None = None
    _deaths = 0

    def prepare(self) -> Model:
        """Find the program. Raises MissingModel."""
        if not self.variant:
            raise ApplicationError(f"{NAME} has no usual program: name one, {NAME}:PATH")
        file = Path(self.variant).expanduser().absolute()
        if not file.is_file() or not os.access(file, os.X_OK):
            raise MissingModel(f"{NAME}: expected a program that may be executed, {file} is none; chmod +x it")
        settings: dict[str, Setting] = {"protocol": "lines of JSON, version 2", "timeout_s": self.timeout_s}
        return Model(f"{NAME}:{file.name}", sha256_of([file]), settings, file)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- the program decides
        """Remember the program; it is started with the first question."""
        assert model.path is not None
        self._file = model.path

    def answer(self, questions: Sequence[TextQuestion]) -> Sequence[Prediction | Exception]:
        """Ask one after the other. Raises ModelUnusable once the program has died over several in a row."""
        return [self._one(question) for question in questions]

    def close(self) -> None:
        """End the program."""
        program, self._program = self._program, None
        if program is not None:
            program.end()

    def _one(self, question: TextQuestion) -> Prediction | Exception:
        asked = {"text": question.text, "title": question.title, "context": question.context}
        try:
            if self._program is None:
                self._program = _Program(self._file)
            line = self._program.ask(json.dumps(asked).encode() + b"\n", self.timeout_s)
        except _Lost as error:
            self.close()
            self._deaths += 1
            if self._deaths >= DEATHS:
                raise ModelUnusable(f"{self._file.name}: {error}, over {DEATHS} questions in a row; mend it") from error
            return PredictionFailed(f"{self._file.name}: {error}")
        self._deaths = 0
        return _told(line, self._file.name)


def _told(line: bytes, name: str) -> Prediction | Exception:
    text = line.decode(errors="replace")
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(text)
        if isinstance(found, dict) and "error" in found:
            return PredictionFailed(f"{name}: {_shown(str(found['error']))}")
    return answer_of_json(text)


def _shown(text: str) -> str:
    """Return the begin of what a program says, with escapes for what a terminal would obey or a line would break at."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:200])


class _Lost(Exception):
    """The program died, hung, or wrote no line or one too many; the text says which."""


class _Program:
    """The running program and its pipes."""

    def __init__(self, file: Path) -> None:
        """Start it. Raises _Lost."""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the program
        try:
            # a group of its own: killpg ends what the program has started too
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True
            )
        except OSError as error:
            self._log.close()
            raise _Lost(f"cannot be started: {error.strerror or error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        for descriptor in (self._in, self._out):
            os.set_blocking(descriptor, False)
        self._read = b""
        self._answered = 0.0

    def ask(self, line: bytes, timeout_s: float) -> bytes:
        """Write a line and return the one that is answered. Raises _Lost."""
        self._check_nothing_is_left()
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._read:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _Lost(f"gave no answer within {timeout_s:g} s")
            if len(self._read) > MAX_LINE:
                raise _Lost(f"wrote more than {MAX_LINE} bytes without an end of line")
            # Both at once: a program that writes before it has read everything must not block either side.
            readable, writable, _ = select.select([self._out], [self._in] if line else [], [], left)
            try:
                if writable:
                    line = line[os.write(self._in, line[:65536]) :]  # what a pipe of Linux holds (pipe(7))
                if readable:
                    self._take(os.read(self._out, 65536))
            except BrokenPipeError as error:
                raise _Lost(self._ending()) from error
        answer, _, self._read = self._read.partition(b"\n")
        self._answered = time.monotonic()
        return answer

    def _check_nothing_is_left(self) -> None:
        """Raise _Lost for a line that would be taken for the answer of the question to come, and shift all others."""
        left = self._answered + SETTLE_S - time.monotonic()
        if not self._read and select.select([self._out], [], [], max(0.0, left))[0]:
            self._take(os.read(self._out, 65536))
        if self._read:
            raise _Lost("wrote a line that no question asked for; write exactly one line for each")

    def _take(self, data: bytes) -> None:
        if not data:
            raise _Lost(self._ending())
        self._read += data

    def _ending(self) -> str:
        """Tell how it ended, with the last line of its standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._log.seek(0)
        said = self._log.read()[-2000:].decode(errors="replace").strip().splitlines()
        return f"ended with status {self._process.poll()}" + (f": {_shown(said[-1])}" if said else "")

    def end(self) -> None:
        """Close its input, and kill it with what it started, unless it ends by itself at once."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()
