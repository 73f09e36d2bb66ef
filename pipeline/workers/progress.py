"""Progress reporting of the stages: the interface that the command line implements as progress bars."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of one step after another; all calls come from the thread that started the work."""

    def start(self, title: str, total: int, done: int = 0) -> None:
        """Begin a step of ``total`` clips, ``done`` of which are already finished; ends the previous step."""
        ...

    def advance(self, count: int = 1) -> None:
        """Report that ``count`` more clips are finished."""
        ...

    def message(self, text: str) -> None:
        """Show one important line: a restarted run, a dead worker."""
        ...


class SilentProgress:
    """Progress reporting that shows nothing."""

    def start(self, title: str, total: int, done: int = 0) -> None:
        """Ignore it."""

    def advance(self, count: int = 1) -> None:
        """Ignore it."""

    def message(self, text: str) -> None:
        """Ignore it."""
