"""Shares of counted answers, against published worked examples and scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from support.profile import examples

from codec_superb.pipeline.statistics.proportions import guessing, wilson


def test_wilson_ends_where_shares_end() -> None:
    """None right begins at 0 and all right end at 1, without the rest of a rounding."""
    ends = [(wilson(0, n), wilson(n, n)) for n in range(1, 200)]
    assert all(none is not None and every is not None and (none[0], every[1]) == (0.0, 1.0) for none, every in ends)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 1998, table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_newcombes_table(successes: int, n: int, low: float, high: float) -> None:
    """To the four decimals that are printed."""
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("right", "n", "p"), [(12, 16, 0.0384), (9, 10, 0.0107), (14, 20, 0.0577), (0, 5, 1.0)])
def test_guessing_is_the_known_table_of_abx(right: int, n: int, p: float) -> None:
    """12 of 16 is the usual threshold of ABX."""
    assert guessing(right, n) == pytest.approx(p, abs=5e-5)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@examples(60)
def test_both_are_scipys(counts: tuple[int, int]) -> None:
    """An independent implementation, at any count."""
    right, n = counts
    test = binomtest(right, n, 0.5, alternative="greater")
    assert guessing(right, n) == pytest.approx(test.pvalue, rel=1e-9, abs=1e-300)
    ends = binomtest(right, n).proportion_ci(method="wilson")
    assert wilson(right, n) == pytest.approx((ends.low, ends.high), abs=1e-12)


def test_nothing_and_nonsense() -> None:
    """Without a trial there is no interval; more successes than trials are a mistake."""
    assert wilson(0, 0) is None
    with pytest.raises(ValueError, match="0 to 3"):
        wilson(4, 3)
    with pytest.raises(ValueError, match="0 to 3"):
        guessing(4, 3)
