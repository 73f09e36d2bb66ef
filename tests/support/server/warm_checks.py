"""Fork servers that outlive the service that started them: one imports for a second, and serves any number of uploads.

A service of the tests starts none before its first upload, as where one has died; then it takes an idle one that was
started with the same limits and environment. Most services of the tests get no upload at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from codec_superb.server.ingest import checker
from codec_superb.server.settings import Settings

KEPT = 2
"""Idle ones at most."""


class WarmChecks:
    """Takes the fork server of a service that ends and hands it to the next that needs one."""

    def __init__(self) -> None:
        self.paused = False
        self.idle: list[tuple[object, checker._ForkServerProcess]] = []
        self._start = checker._ForkServerProcess
        self._make, self._close = checker.Checker.__init__, checker.Checker.close

    @contextmanager
    def used(self) -> Iterator[None]:
        """Stand between services and fork servers until the block ends, then end what is idle."""
        warm = self

        def make(made: checker.Checker, settings: Settings) -> None:
            with pytest.MonkeyPatch.context() as at_first:
                if not warm.paused:
                    at_first.setattr(checker, "_ForkServerProcess", lambda _settings: None)
                warm._make(made, settings)

        def close(made: checker.Checker) -> None:
            if not warm.paused:
                warm.keep(made)
            warm._close(made)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checker, "_ForkServerProcess", self.start)
            patch.setattr(checker.Checker, "__init__", make)
            patch.setattr(checker.Checker, "close", close)
            yield
        self.end()

    def start(self, settings: Settings) -> checker._ForkServerProcess:
        """Give an idle one that was started in circumstances like the present ones, else start one."""
        for entry in [] if self.paused else reversed(self.idle):
            if entry[0] == circumstances(settings) and entry[1].alive:
                self.idle.remove(entry)
                return entry[1]
        return self._start(settings)

    def keep(self, ended: checker.Checker) -> None:
        """Take the fork server of a service that ends, if it lives; the oldest ones beyond ``KEPT`` end."""
        server = ended._fork_server
        if server is not None and server.alive:
            ended._fork_server = None
            self.idle.append((circumstances(ended._settings), server))
        self.end(KEPT)

    def end(self, kept: int = 0) -> None:
        """End all idle ones but the newest ``kept``."""
        while len(self.idle) > kept:
            self.idle.pop(0)[1].end()


def circumstances(settings: Settings) -> tuple[Any, ...]:
    """Return what a fork server takes over when it starts."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return settings.check_seconds, settings.check_memory, checker.QUICK_SECONDS, environment
