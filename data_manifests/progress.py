"""How a long step tells where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """Where a step is. Calls may come from several threads, but never two at once."""

    stage: Literal["download", "cut", "check"]
    done: int
    """Bytes for ``download``, clips for the others."""
    total: int
    item: str
    """File or clip that is being worked on."""


OnProgress = Callable[[ProgressUpdate], None]


def ignore_progress(_progress: ProgressUpdate) -> None:
    """Tell nobody."""
