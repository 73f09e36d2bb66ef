"""Ranges of ranks, against counting every pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.server.board.ranks import rank_ranges

intervals = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda pair: (pair[0], sum(pair))))


@given(intervals, st.booleans())
def test_ranges_are_what_counting_every_pair_gives(pairs: list[tuple[int, int]], higher: bool) -> None:
    """Best: one more than those certainly better; worst: those not certainly worse, oneself among them."""
    low, high = (np.array([pair[end] for pair in pairs], np.float64) for end in (0, 1))
    best, worst = rank_ranges(low, high, higher_is_better=higher)
    for i in range(len(pairs)):
        if higher:
            better, not_worse = sum(other > high[i] for other in low), sum(other >= low[i] for other in high)
        else:
            better, not_worse = sum(other < low[i] for other in high), sum(other <= high[i] for other in low)
        assert best[i] == 1 + better
        assert worst[i] == not_worse
        assert 1 <= best[i] <= worst[i] <= len(pairs)


def test_values_without_intervals_are_plain_ranks() -> None:
    """A value that is its own interval gets one place; equal values share theirs."""
    values = np.array([0.9, 0.5, 0.5, 0.1])
    best, worst = rank_ranges(values, values, higher_is_better=True)
    assert best.tolist() == [1, 2, 2, 4]
    assert worst.tolist() == [1, 3, 3, 4]
    best, _ = rank_ranges(values, values, higher_is_better=False)
    assert best.tolist() == [4, 2, 2, 1]
