"""Groups warnings that say the same of many clips or datasets: 75 equal ones are one line with a count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WORD, _DIGIT = re.compile(r"\S+"), re.compile(r"\d")
Warnings = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WarningGroup:
    """Warnings of one kind whose sentences differ in numbers and names alone."""

    kind: str
    lines: Sequence[str]
    """Each with its place, in the order in which they came; the first stands for all."""

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.lines)


def grouped(warnings: Warnings) -> list[WarningGroup]:
    """Put warnings together, in the order of the first of each group."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in warnings:
        line = f"{each['where']}: {each['text']}" if each.get("where") else each["text"]
        found.setdefault((each["kind"], without_particulars(each["text"])), []).append(line)
    return [WarningGroup(kind, lines) for (kind, _), lines in found.items()]


def without_particulars(text: str) -> str:
    """Replace words with a digit: values, ids of clips, names of configurations."""
    # word by word: a pattern of both tries every place of a long word without a digit anew
    return _WORD.sub(lambda word: "#" if _DIGIT.search(word[0]) else word[0], text)


def kinds(warnings: Warnings) -> str:
    """Name the kinds of warnings with their counts: ``outlier, lag (75)``."""
    counts = Counter[str]()
    for each in warnings:
        counts[each["kind"]] += each.get("more", 1)
    return ", ".join(kind if count == 1 else f"{kind} ({count})" for kind, count in counts.items())
