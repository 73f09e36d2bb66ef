"""The service as a process of its own, started by the command line and talked to over its socket."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from support.timing import PATIENCE_S

PROGRAM = "import sys; from codec_superb.cli.main import call; sys.exit(call(sys.argv[1:]))"
WITHOUT_HEAVY = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "torchaudio", "numba", "transformers", "librosa", "pesq", "pyworld"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
"""
"""Python that goes before the program to make an environment without the packages that compute sound."""


@dataclass
class Served:
    """A running service."""

    process: subprocess.Popen[str]
    url: str
    said: list[str] = field(default_factory=list)
    """Lines that it printed when it started."""
    log: Path = Path()
    """What it writes to stderr."""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.url)
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """Ask it."""
        return httpx2.get(self.url + path, headers=headers, timeout=PATIENCE_S)


@contextmanager
def served(
    *arguments: str, before: str = "", environment: Mapping[str, str] | None = None, python: str | Path = sys.executable
) -> Iterator[Served]:
    """Start ``codec-superb serve`` on a free port and wait until it has printed its address; end it hard if need be.

    ``before`` is Python that runs in the process before the program; ``python`` is the environment's interpreter.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        process = _start(python, arguments, before, environment or {}, log)
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            if "http://" not in first:
                process.wait(PATIENCE_S)
                raise AssertionError(f"the service did not start:\n{first}{log.read_text()}")
            url = first.rsplit(" ", 1)[-1].strip()
            service = Served(process, url, [first, process.stdout.readline(), process.stdout.readline()], log)
            service.get("/healthz")  # connections are taken before the application has started: wait for it
            yield service
        finally:
            process.kill()
            process.wait(PATIENCE_S)
            process.stdout.close()


def _start(
    python: str | Path, arguments: Sequence[str], before: str, environment: Mapping[str, str], log: Path
) -> subprocess.Popen[str]:
    with log.open("w") as stderr:
        return subprocess.Popen(
            [python, "-c", before + PROGRAM, "serve", *(() if "--port" in arguments else ("--port", "0")), *arguments],
            stdout=subprocess.PIPE, stderr=stderr, text=True, env={**os.environ, **environment}, cwd=log.parent,
        )  # fmt: skip
