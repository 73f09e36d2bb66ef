"""How much of warnings is kept: a file may earn tens of thousands, each with a text of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NotRequired, TypedDict

from codec_superb.server.moderation.warning_groups import without_particulars

MOST = 200
"""Warnings that are kept of a submission, beside one for each kind that counts its rest."""
LONGEST = 400
"""Characters of a warning: sentences of the program are shorter, what they repeat of a file need not be."""
_END = 150
"""Of these the last ones, which say what is wrong with what was repeated."""
_QUOTE = re.compile("['\"]")


class PlausibilityWarning(TypedDict):
    """One warning, as it is kept with the submission."""

    kind: str
    where: str
    """A dataset and its category, or '' for the whole submission."""
    text: str
    holds: bool
    """Whether a public board waits for a moderator."""
    more: NotRequired[int]
    """Of how many more of its kind it tells, where it counts the rest."""


def cut(text: str) -> str:
    """Leave out the middle of a long text."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - _END - 1]}…{text[-_END:]}"


def kept(warnings: Sequence[PlausibilityWarning]) -> list[PlausibilityWarning]:
    """Return at most :data:`MOST` of the warnings, in their order, and then one for each kind that counts its rest.

    Kinds have equal shares, of which they leave to others what they do not need. What is kept already stays as it is.
    """
    if len(warnings) <= MOST:
        return list(warnings)
    kinds: dict[str, list[int]] = {}
    for number, warning in enumerate(warnings):
        kinds.setdefault(warning["kind"], []).append(number)
    chosen, rests = set[int](), list[PlausibilityWarning]()
    for place, (kind, numbers) in enumerate(sorted(kinds.items(), key=lambda each: len(each[1]))):
        share = (MOST - len(chosen)) // (len(kinds) - place)
        if len(numbers) > share:
            numbers = _telling_first(warnings, numbers)  # noqa: PLW2901  # the same ones
            rests.append(_rest(kind, [warnings[number] for number in numbers[share:]]))
        chosen.update(numbers[:share])
    return [*(warnings[number] for number in sorted(chosen)), *rests]


def _telling_first(warnings: Sequence[PlausibilityWarning], numbers: Iterable[int]) -> list[int]:
    """Sort warnings of a kind: those that hold first, and of these the first one of each sentence, then the second.

    So that sixty thousand of one sentence hide no other. A sentence is known by its words before what it quotes.
    """
    begins = {number: _QUOTE.split(warnings[number]["text"], maxsplit=1)[0] for number in numbers}
    sentences = {begin: without_particulars(begin) for begin in set(begins.values())}
    before = Counter[str]()
    keys: dict[int, tuple[bool, bool, int]] = {}
    for number, begin in begins.items():
        sentence = sentences[begin]
        keys[number] = "more" in warnings[number], not warnings[number].get("holds", True), before[sentence]
        before[sentence] += 1
    return sorted(keys, key=keys.__getitem__)


def _rest(kind: str, warnings: Sequence[PlausibilityWarning]) -> PlausibilityWarning:
    more = sum(warning.get("more", 1) for warning in warnings)
    holds = any(warning.get("holds", True) for warning in warnings)
    return {"kind": kind, "where": "", "text": f"{more:,} more of this kind", "holds": holds, "more": more}
