"""Reads the replies of judges, strictly: the last line ends in one pair of double brackets, or nothing is read.

A function is ``(replies) -> Result`` of the replies about one answer, in the order of the requests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from codec_superb.applications.understanding.cases import Compared, Result, Scored, Verdict

_BRACKETS = re.compile(r"\[\[([^\[\]]*)\]\]")
_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,3})?")
_PAIR = 2


class Reader(Protocol):
    """Reads the replies about one answer."""

    def __call__(self, replies: Sequence[str], /) -> Result:
        """Return what they say."""
        ...


def airbench(replies: Sequence[str]) -> Scored | None:
    """Mean scores of the answer and of the reference over both places; steady where both say who is better."""
    first, second = (_numbers(reply, _PAIR, 1, 10) for reply in replies)
    if first is None or second is None:
        return None
    own, other = (first[0], second[1]), (first[1], second[0])
    signs = {(mine > theirs) - (mine < theirs) for mine, theirs in zip(own, other, strict=True)}
    rating, against = sum(own) / _PAIR, sum(other) / _PAIR
    return Scored(_win(rating, against), len(signs) == 1, rating, against)


def pair(replies: Sequence[str]) -> Compared | None:
    """1 where the answer is preferred in both places, 0 in none, a half where its place decides."""
    read = [_bracketed(reply) for reply in replies]
    if not set(read) <= {"a", "b"}:
        return None
    won = [read[0] == "a", read[1] == "b"]
    return Compared(sum(won) / _PAIR, won[0] == won[1])


def rating_of_ten(replies: Sequence[str]) -> float | None:
    """Return the mean of ratings from 1 to 10; None where one cannot be read."""
    return _mean(replies, 10)


def rating_of_five(replies: Sequence[str]) -> float | None:
    """Return the mean of ratings from 1 to 5; None where one cannot be read."""
    return _mean(replies, 5)


def yes_or_no(replies: Sequence[str]) -> Verdict:
    """Return what most replies say; nothing is read without a majority of all that were asked."""
    votes = Counter(_bracketed(reply) for reply in replies)
    for word in ("yes", "no"):
        if 2 * votes[word] > len(replies):
            return Verdict(word == "yes", word)
    return Verdict(False, None)


def _mean(replies: Sequence[str], highest: int) -> float | None:
    found = [_numbers(reply, 1, 1, highest) for reply in replies]
    read = [numbers[0] for numbers in found if numbers is not None]
    return sum(read) / len(read) if len(read) == len(replies) else None


def _bracketed(reply: str) -> str | None:
    """Return what stands between double brackets at the end of the last line; None where several differ."""
    lines = reply.strip().splitlines()
    if not lines or not lines[-1].rstrip(" .*").endswith("]]"):
        return None
    found = {text.strip().casefold() for text in _BRACKETS.findall(lines[-1])}
    return found.pop() if len(found) == 1 else None


def _numbers(reply: str, count: int, lowest: int, highest: int) -> tuple[float, ...] | None:
    words = (_bracketed(reply) or "").split(",")
    if len(words) != count or not all(_NUMBER.fullmatch(word.strip()) for word in words):
        return None
    numbers = tuple(map(float, words))
    return numbers if all(lowest <= number <= highest for number in numbers) else None


def _win(own: float, other: float) -> float:
    return 0.5 if own == other else float(own > other)
