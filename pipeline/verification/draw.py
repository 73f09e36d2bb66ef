"""Which clips are run again: drawn by a seed that the submitter could not know, as many as catch a cheat.

A cheat that changes K of the M clips of a dataset escapes n drawn ones with the probability C(M-K, n) / C(M, n)
(hypergeometric: without replacement). Clips are drawn by category in proportion to the category's clips, and the cheat
chooses how to spread the K over the categories: what counts is the spread that escapes most easily.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, comb, log
from typing import Protocol

from codec_superb.pipeline.errors import PipelineError

SHARE = 0.05
"""Forged share of a dataset's clips that is to be caught."""
CONFIDENCE = 0.99
"""Probability with which it is caught."""
_LESS = 1e-12
"""What the logarithm of a probability may be above its limit by rounding."""


def checked_nonce(text: str) -> str:
    """Return a nonce as it is given. Raises PipelineError for anything but 64 hexadecimal digits in lower case."""
    if re.fullmatch("[0-9a-f]{64}", text) is None:
        raise PipelineError(f"expected a nonce of 64 hexadecimal digits (0-9, a-f), got {len(text)} characters")
    return text


def seed_of(file_sha256: str, nonce: str) -> str:
    """Return the seed of the draw, 64 hexadecimal digits: SHA-256 over the file's own and the maintainer's nonce."""
    return hashlib.sha256(bytes.fromhex(file_sha256) + bytes.fromhex(nonce)).hexdigest()


class Placed(Protocol):
    """What a draw looks at of a clip."""

    @property
    def dataset(self) -> str:
        """Its dataset."""

    @property
    def category(self) -> str:
        """Its category."""

    @property
    def clip(self) -> str:
        """Its name."""


def draw(rows: Iterable[Placed], seed: str, clips: int | None) -> dict[str, tuple[str, ...]]:
    """Return the drawn clips of each dataset, sorted.

    ``clips`` is the number of clips of each dataset, 0 for all; None for as many as :func:`clips_needed` says.
    """
    strata: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        strata.setdefault(row.dataset, {}).setdefault(row.category, []).append(row.clip)
    return {dataset: _drawn(dataset, found, seed, clips) for dataset, found in sorted(strata.items())}


def clips_needed(sizes: Sequence[int], share: float = SHARE, confidence: float = CONFIDENCE) -> int:
    """Return the least number of clips that catch a cheat on ``share`` of a dataset with at least ``confidence``.

    ``sizes`` are the clips of its categories. The number of forged clips is rounded up, and at least one.
    """
    total = sum(sizes)
    forged = max(1, ceil(share * total - 1e-9))
    for number in range(1, total):
        if log_escape(sizes, allocation(sizes, number), forged) <= log(1 - confidence) + _LESS:
            return number
    return total


def allocation(sizes: Sequence[int], number: int) -> list[int]:
    """Share ``number`` drawn clips out among strata by size: the largest remainders get the clips that are left."""
    total = sum(sizes)
    if number >= total:
        return list(sizes)
    parts = [number * size / total for size in sizes]
    taken = [int(part) for part in parts]
    order = sorted(range(len(sizes)), key=lambda place: (taken[place] - parts[place], place))
    for place in order[: number - sum(taken)]:
        taken[place] += 1
    return taken


def log_escape(sizes: Sequence[int], taken: Sequence[int], forged: int) -> float:
    """Return the logarithm of the largest probability with which ``forged`` clips escape the draw, over all spreads.

    The factor of one more forged clip in a stratum falls with those that are there: the largest first is the best.
    """
    spread, found = [0] * len(sizes), 0.0
    for _ in range(forged):
        left = [
            (_factor(size, its, there), place)
            for place, (size, its, there) in enumerate(zip(sizes, taken, spread, strict=True))
        ]
        best, place = max(left, key=lambda entry: (entry[0], -entry[1]))
        if best <= 0:
            return float("-inf")
        found += log(best)
        spread[place] += 1
    return found


def escape(clips: int, drawn: int, forged: int) -> float:
    """Return the probability that none of ``forged`` of ``clips`` clips is among ``drawn``: one stratum, exactly."""
    return comb(clips - forged, drawn) / comb(clips, drawn)


def _factor(size: int, taken: int, forged: int) -> float:
    """Probability that one more forged clip of a stratum escapes, those before it having escaped."""
    return (size - taken - forged) / (size - forged) if size > forged else 0.0


def _drawn(dataset: str, strata: Mapping[str, list[str]], seed: str, clips: int | None) -> tuple[str, ...]:
    names = sorted(strata)
    sizes = [len(strata[name]) for name in names]
    number = clips_needed(sizes) if clips is None else clips or sum(sizes)
    chosen: list[str] = []
    for name, amount in zip(names, allocation(sizes, number), strict=True):
        # no generator of random numbers: the order follows from the seed on every machine and version
        order = sorted(strata[name], key=lambda clip: hashlib.sha256(f"{seed}\n{dataset}\n{clip}".encode()).digest())
        chosen += order[:amount]
    return tuple(sorted(chosen))
