"""Findings of a check: each problem says where it is, what was expected, what came, and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from codec_superb.record import Record

MOST = 100
"""Problems that are listed; the others are counted."""


class Problem(Record):
    """One reason why a submission is not accepted."""

    path: str
    """Member of the zip and the place in it: ``submission.json: datasets.0.ok``, ``clips.parquet: mini/dog_03``."""
    expected: str
    got: str
    how_to_fix: str


class CheckReport(Record):
    """Outcome of a check."""

    ok: bool
    """No problem was found."""
    codec: str | None
    """Name of the codec, None when the file could not be read that far."""
    datasets: tuple[str, ...]
    clips: int
    """Rows that were read."""
    problems: tuple[Problem, ...]
    more: int
    """Problems beyond those listed."""
    notes: tuple[str, ...]
    """What was not verified here, and what is unusual without being wrong."""


@dataclass(slots=True)
class Findings:
    """Collects problems and notes while a check goes on."""

    problems: list[Problem] = field(default_factory=list)
    more: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, path: str, expected: Any, got: Any, how_to_fix: str) -> None:
        """Note one problem; texts from the file are cut."""
        if len(self.problems) >= MOST:
            self.more += 1
            return
        self.problems.append(
            Problem(path=_cut(path), expected=_cut(expected), got=_cut(got), how_to_fix=_cut(how_to_fix))
        )

    def note(self, text: str) -> None:
        """Note something that is not a problem."""
        if len(self.notes) < MOST:
            self.notes.append(_cut(text))


def _cut(text: Any) -> str:
    shown = str(text)
    return shown if len(shown) <= 300 else shown[:297] + "…"  # noqa: PLR2004 -- a line or two on a screen
