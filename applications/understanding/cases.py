"""What a measure compares: one clip's right answers and the answers to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Case(NamedTuple):
    """One clip of a task, as a measure sees it."""

    clip: str
    language: str | None
    """BCP 47 tag of the clip."""
    truth: tuple[str, ...]
    """Right answers, any of which will do; at least one."""
    options: tuple[str, ...] = ()
    """Answers to choose from: classes of the task or choices of the clip; empty for an open question."""
    question: str = ""
    """As the dataset has it."""
    extra: Mapping[str, str] = MappingProxyType({})
    """The dataset's own labels by name."""


class Verdict(NamedTuple):
    """What a measure of right and wrong says of one answer."""

    correct: bool
    read: str | None
    """The answer as it was understood, the same for equal answers; None where it could not be read."""


class Labelled(NamedTuple):
    """Labels of one clip, of which an answer may name several."""

    right: frozenset[str]
    """Of the clip; at least one."""
    given: frozenset[str]
    """Labels of any clip that the answer names."""
    classes: int = 0
    """How many the task states; 0 where it states none."""


class Counts(NamedTuple):
    """Errors of one transcript against its label."""

    substitutions: int
    deletions: int
    insertions: int
    words: int = 0
    """Units of the label where they are words; 0 where they are characters."""
    characters: int = 0


class NGrams(NamedTuple):
    """The ten numbers of corpus BLEU."""

    matches: tuple[int, int, int, int]
    """Clipped matches of 1 to 4 tokens."""
    totals: tuple[int, int, int, int]
    """Such runs in the answer."""
    length: int
    """Tokens of the answer."""
    reference_length: int
    """Tokens of the right answer; of several the one closest in length."""


class Kept(NamedTuple):
    """Instructions of an answer that could be verified."""

    asked: int
    strict: int
    loose: int


class LeftOut(NamedTuple):
    """Why a clip cannot be measured, whatever its answer: a label that is empty after normalising."""

    reason: str


class Compared(NamedTuple):
    """What a judge says of an answer beside another, asked in both orders."""

    win: float
    """1 where it is better, 0 where it is worse, a half for neither."""
    steady: bool
    """Whether both orders agree."""


class Scored(NamedTuple):
    """As :class:`Compared`, with the mean scores of both."""

    win: float
    steady: bool
    rating: float
    other: float
    """Of the reference answer."""


Result = Verdict | Labelled | Counts | NGrams | Kept | Compared | Scored | LeftOut | float | None
"""By the kind of the measure: ``choice``, ``labels``, ``edits``, ``bleu``, ``instructions``, and a number for
``value`` and ``rating`` (None where the answer has none). A clip with LeftOut takes no part."""
