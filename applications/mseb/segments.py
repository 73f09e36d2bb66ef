"""Located terms: which of them are named at the right place in the list and at the right time.

Source: Heigold et al., Massive Sound Embedding Benchmark, NeurIPS 2025 datasets track, and its evaluator. Labels
compare in lower case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.asr.word_times import Word

TOLERANCES = {"50": 0.05, "100": 0.1, "200": 0.2}
"""Seconds by which both ends may be off, by the name in a figure: 0.05 in the published code, 0.1 in the paper."""


_SLACK = 1e-9
"""Seconds: 1.05 - 1.0 is more than 0.05 in binary."""


class Hits(NamedTuple):
    """Truths that were found, in three greedy passes in which each prediction is used once."""

    both: int
    """Term and both times."""
    times: int
    """The above, and of the rest those with both times."""
    terms: int
    """Both, and of what the passes before left those with the term."""


def ordered_gain(truth: Sequence[Word], found: Sequence[Word]) -> float:
    """Return the discounted share of terms that stand at their own place of the list, in [0, 1]; 0 without a truth.

    Worked numbers, of three terms: the first right .46928, the first two .76537, the third alone .23464.
    """
    if not truth:
        return 0.0
    # the discount of Järvelin and Kekäläinen (2002) for places from 1
    gains = [1.0 / math.log2(place + 2) for place in range(len(truth))]
    right = [_same_term(one, other) for one, other in zip(truth, found, strict=False)]
    return math.fsum(gain for gain, hit in zip(gains, right, strict=False) if hit) / math.fsum(gains)


def hits(truth: Sequence[Word], found: Sequence[Word], tolerance: float) -> Hits:
    """Count the truths that are found, by term and times within ``tolerance`` seconds; predictions in their order."""
    free_truths, free = list(range(len(truth))), list(range(len(found)))

    def taken(matches: Callable[[Word, Word], bool]) -> int:
        count = 0
        for one in list(free_truths):
            mine = next((other for other in free if matches(truth[one], found[other])), None)
            if mine is not None:
                free_truths.remove(one)
                free.remove(mine)
                count += 1
        return count

    def same_times(one: Word, other: Word) -> bool:
        return _near(one.start, other.start, tolerance) and _near(one.end, other.end, tolerance)

    both = taken(lambda one, other: same_times(one, other) and _same_term(one, other))
    times = taken(same_times)
    return Hits(both, both + times, both + taken(_same_term))


def matched(truth: Sequence[Word], found: Sequence[Word], tolerance: float) -> list[bool]:
    """Return, for each prediction in order of confidence, whether term and times are those of an unused truth.

    The answer is in the order of ``found``.
    """
    unused = list(truth)
    right = [False] * len(found)
    for place in sorted(range(len(found)), key=lambda place: -found[place].confidence):
        for one in unused:
            near = _near(one.start, found[place].start, tolerance) and _near(one.end, found[place].end, tolerance)
            if near and _same_term(one, found[place]):
                unused.remove(one)
                right[place] = True
                break
    return right


def word_errors(truth: Sequence[Word], found: Sequence[Word]) -> tuple[int, int]:
    """Return the words of the true terms, joined with spaces, and the errors of those found."""
    wanted, given = (" ".join(word.text.lower() for word in words).split() for words in (truth, found))
    return len(wanted), count_edits(wanted, given).errors


def _same_term(one: Word, other: Word) -> bool:
    return one.text.lower() == other.text.lower()


def _near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance + _SLACK
