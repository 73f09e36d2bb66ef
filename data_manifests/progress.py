"""Progress reporting of downloads, cutting and hashing: the update and the type of the callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """The progress of a step. Calls may come from several threads, but never two at once."""

    stage: Literal["download", "cut", "check"]
    done: int
    """Bytes for ``download``, clips for the others."""
    total: int
    item: str
    """File or clip that is being processed."""


OnProgress = Callable[[ProgressUpdate], None]


def ignore_progress(_progress: ProgressUpdate) -> None:
    """Ignore the update; the default callback."""
