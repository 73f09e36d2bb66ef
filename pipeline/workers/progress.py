"""How a long step tells what it does; the command line draws bars from it, a library user may ignore it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told about one step after another; all calls come from the thread that started the work."""

    def start(self, title: str, total: int, done: int = 0) -> None:
        """Begin a step of ``total`` clips, ``done`` of which are there already; ends the step before."""
        ...

    def advance(self, count: int = 1) -> None:
        """Say that ``count`` more clips are finished."""
        ...

    def message(self, text: str) -> None:
        """Show one line that must not get lost: what was restarted, which worker died."""
        ...


class SilentProgress:
    """Shows nothing."""

    def start(self, title: str, total: int, done: int = 0) -> None:
        """Ignore it."""

    def advance(self, count: int = 1) -> None:
        """Ignore it."""

    def message(self, text: str) -> None:
        """Ignore it."""
