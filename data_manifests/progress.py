"""Progress reporting of downloads, cutting and hashing: the update and the type of the callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """The progress of a step. Calls may come from several threads, but never two at once."""

    stage: Literal["download", "unpack", "cut", "check"]
    done: int
    """Bytes for ``download`` and ``unpack``, clips for the others."""
    total: int
    """0 where nobody states it."""
    item: str
    """File or clip that is being processed."""
    alone: bool = False
    """Whether ``done`` and ``total`` are those of this file, rather than of several that come at once."""


OnProgress = Callable[[ProgressUpdate], None]


def ignore_progress(_progress: ProgressUpdate) -> None:
    """Ignore the update; the default callback."""
