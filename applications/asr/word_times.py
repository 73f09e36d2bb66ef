"""Transcripts with the times of words, as strict JSON: ``[[word, start, end, probability], …]``, times in seconds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import NamedTuple

_NUMBERS = 3


class Word(NamedTuple):
    """A word of a transcript, or a term of several."""

    text: str
    start: float
    """Seconds from the start of the clip."""
    end: float
    confidence: float
    """Probability of a word; of a term its rarity times the mean probability of its words."""


def written(words: Iterable[Word]) -> str:
    """Return words as text; times are rounded to milliseconds, probabilities to four places."""
    rows = [[word.text, round(word.start, 3), round(word.end, 3), round(word.confidence, 4)] for word in words]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read(text: str) -> list[Word]:
    """Return the words of a text; an empty one has none. Raises ValueError for what :func:`written` does not give."""
    if not text.strip():
        return []
    try:
        rows = json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(rows, list):
        raise ValueError(f"expected a list of words, got {type(rows).__name__}")  # noqa: TRY004 -- one kind of error
    return [_word(row) for row in rows]


def _word(row: object) -> Word:
    if not isinstance(row, list) or len(row) != 1 + _NUMBERS or not isinstance(row[0], str):
        raise ValueError(f"expected [word, start, end, probability], got {json.dumps(row)[:80]}")
    numbers = row[1:]
    if any(isinstance(n, bool) or not isinstance(n, int | float) or not math.isfinite(n) for n in numbers):
        raise ValueError(f"expected three finite numbers after {row[0]!r}, got {json.dumps(numbers)[:80]}")
    start, end, probability = map(float, numbers)
    if end < start or not 0.0 <= probability <= 1.0:
        raise ValueError(f"expected an end after the start and a probability of 0 to 1 of {row[0]!r}, got {numbers}")
    return Word(row[0], start, end, probability)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")
