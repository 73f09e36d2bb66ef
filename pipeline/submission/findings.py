"""Findings of a check: each problem says where it is, what was expected, what came, and how to fix it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from codec_superb.record import Record

MOST = 100
"""Kinds of problems that are listed, by one each; the others are counted."""
UNUSUAL = "unusual: "
"""How a note begins for which a public leaderboard has a moderator look first."""
_SORTED = 20_000
"""Problems that are sorted by kind; a file that has more is only counted on."""
_PLACES = 3
"""Further places that are named of a kind of problem."""
_TABLE_ROW = re.compile(r"^(\S+\.parquet: )(.+?)((?:: [\w.]+)?)$", re.DOTALL)
"""A member, the clip or pair in it, and its column."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


class Problem(Record):
    """One reason why a submission is not accepted, or the first of several of one kind."""

    path: str
    """Member of the zip and the place in it: ``submission.json: datasets.0.ok``, ``clips.parquet: mini/dog_03``."""
    expected: str
    got: str
    """Of several of one kind: that of the first, then their number and some of their places."""
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
    """One of each kind."""
    more: int
    """Problems beyond those listed."""
    notes: tuple[str, ...]
    """What is hard to believe, which begins with :data:`UNUSUAL`; then what was not verified or is worth knowing."""


@dataclass(slots=True)
class _Kind:
    """Problems that differ in place and numbers alone."""

    first: Problem
    places: list[str] = field(default_factory=list)
    others: int = 0

    def told(self) -> Problem:
        if not self.others:
            return self.first
        rest = self.others - len(self.places)
        named = ", ".join(self.places) + (f" and {rest} more" if rest else "")
        return self.first.model_copy(update={"got": f"{self.first.got}; and {self.others} more like it: {named}"})


@dataclass(slots=True)
class Findings:
    """Collects problems, doubts and notes while a check goes on."""

    kinds: dict[tuple[str, ...], _Kind] = field(default_factory=dict)
    count: int = 0
    """Problems, those of one kind each."""
    unusual: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[Problem]:
        """One problem of each kind, with the number of the others."""
        return [kind.told() for kind in self.kinds.values()]

    @property
    def more(self) -> int:
        """Problems that are not listed."""
        return self.count - len(self.kinds)

    @property
    def notes(self) -> list[str]:
        """What is unusual, then what is worth knowing."""
        return [*(f"{UNUSUAL}{text}" for text in self.unusual), *self.remarks]

    def add(self, path: str, expected: Any, got: Any, how_to_fix: str) -> None:
        """Note one problem; texts from the file are cut."""
        self.count += 1
        if self.count > _SORTED:
            return
        path, wanted = _cut(path), _cut(expected)
        kind = (*_kind_of_place(path), _NUMBER.sub("#", wanted), how_to_fix)
        if kind in self.kinds:
            found = self.kinds[kind]
            found.others += 1
            if len(found.places) < _PLACES:
                found.places.append(_clip_of(path))
        elif len(self.kinds) < MOST:
            self.kinds[kind] = _Kind(Problem(path=path, expected=wanted, got=_cut(got), how_to_fix=_cut(how_to_fix)))

    def doubt(self, text: str) -> None:
        """Note something that is possible and hard to believe."""
        _note(self.unusual, text)

    def note(self, text: str) -> None:
        """Note something that is not a problem."""
        _note(self.remarks, text)


def _note(into: list[str], text: str) -> None:
    if len(into) < MOST:
        into.append(_cut(text))


def _kind_of_place(path: str) -> tuple[str, ...]:
    """Return a place without its clip or its numbers."""
    row = _TABLE_ROW.match(path)
    return (row[1], row[3]) if row else (_NUMBER.sub("#", path),)


def _clip_of(path: str) -> str:
    row = _TABLE_ROW.match(path)
    return row[2] if row else path


def _cut(text: Any) -> str:
    shown = str(text)
    return shown if len(shown) <= 300 else shown[:297] + "…"  # noqa: PLR2004 -- a line or two on a screen
