"""Bjøntegaard deltas: published example curves, answers by hand, and curves on which nothing can be said."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.bjontegaard import Method, RatePoint, bjontegaard


def curve(rates: list[float], scores: list[float]) -> list[RatePoint]:
    """Pair up."""
    return [RatePoint(rate, score) for rate, score in zip(rates, scores, strict=True)]


# The example that goes around with the implementations of VCEG-M33.
FIRST = curve([686.76, 309.58, 157.11, 85.95], [40.28, 37.18, 34.24, 31.42])
SECOND = curve([893.34, 407.8, 204.93, 112.75], [40.39, 37.21, 34.17, 31.24])
# libx265 at two presets, the example of the package bjontegaard.
ANCHOR = curve([9487.76, 4593.60, 2486.44, 1358.24], [40.037, 38.615, 36.845, 34.851])
TEST = curve([9787.80, 4469.00, 2451.52, 1356.24], [40.121, 38.651, 36.970, 34.987])


@pytest.mark.parametrize(
    ("family", "against", "method", "rate", "score"),
    [
        (SECOND, FIRST, "cubic", 31.397374054908656, -1.184897921770328),
        (SECOND, FIRST, "pchip", 31.379878202397627, -1.1834724046224592),
        (TEST, ANCHOR, "cubic", -4.420462706026296, 0.12040941911471303),
        (TEST, ANCHOR, "pchip", -4.417485350589045, 0.11969278542479489),
    ],
)
def test_known_answers(
    family: list[RatePoint], against: list[RatePoint], method: Method, rate: float, score: float
) -> None:
    """Answers of the package bjontegaard 1.3.0, whose PCHIP agrees with the sheet of JCT-VC to ten digits."""
    delta = bjontegaard(family, against, method=method)
    assert delta.rate_percent == pytest.approx(rate, rel=1e-8)
    assert delta.score == pytest.approx(score, rel=1e-8)
    assert delta.reason == ""


def test_curves_of_unequal_length_known_answer() -> None:
    """Five points against three, over the overlap only; the answer is that of the package bjontegaard 1.3.0."""
    delta = bjontegaard(curve([8, 16, 32], [0.45, 0.75, 0.95]), curve([3, 6, 12, 24, 48], [0.3, 0.5, 0.7, 0.8, 0.9]))
    assert delta.rate_percent == pytest.approx(6.4701689261193795, rel=1e-8)
    assert delta.score == pytest.approx(-0.0032354592796137957, rel=1e-8)
    assert delta.points == (3, 5)


def test_half_the_bits_for_the_same_score_is_minus_fifty_percent() -> None:
    """By hand: a curve shifted by one octave needs 50 % of the bits; on a line of 0.1 an octave it gains 0.1."""
    rates, scores = [4.0, 8.0, 16.0, 32.0], [0.5, 0.6, 0.7, 0.8]
    delta = bjontegaard(curve([rate / 2 for rate in rates], scores), curve(rates, scores))
    assert delta.rate_percent == pytest.approx(-50)
    assert delta.score == pytest.approx(0.1)


@given(st.integers(2, 6), st.floats(0.3, 3), st.floats(-0.2, 0.2))
def test_swapping_the_families_inverts_the_deltas(points: int, factor: float, gain: float) -> None:
    """If A needs r times the bits of B, then B needs 1/r of those of A, and gains and losses change sign."""
    rates = [2.0 * 1.9**number for number in range(points)]
    one = curve(rates, [0.5 + 0.1 * number**0.8 for number in range(points)])
    two = curve([rate * factor for rate in rates], [0.5 + gain + 0.09 * number for number in range(points)])
    there, back = bjontegaard(one, two), bjontegaard(two, one)
    if there.rate_percent is None or back.rate_percent is None:
        assert there.rate_percent is back.rate_percent
    else:
        assert (1 + there.rate_percent / 100) * (1 + back.rate_percent / 100) == pytest.approx(1)
    if there.score is None or back.score is None:
        assert there.score is back.score
    else:
        assert there.score == pytest.approx(-back.score, abs=1e-12)


@pytest.mark.parametrize(("method", "count"), [("pchip", 1), ("cubic", 3)])
def test_too_few_points_give_a_reason(method: Method, count: int) -> None:
    """PCHIP needs two points on each curve, the cubic four."""
    delta = bjontegaard(FIRST[:count], SECOND, method=method)
    assert (delta.rate_percent, delta.score) == (None, None)
    assert f"expected at least {count + 1}" in delta.reason
    assert f"got {count} and 4" in delta.reason


def test_without_overlap_there_is_no_number() -> None:
    """Curves that share no score have no BD-rate, those that share no bitrate no BD-score; the reason says which."""
    low, high = curve([2, 4], [0.3, 0.5]), curve([3, 6], [0.6, 0.9])
    delta = bjontegaard(low, high)
    assert delta.rate_percent is None
    assert delta.score is not None
    assert delta.reason == "the scores of the two curves do not overlap"
    delta = bjontegaard(low, curve([40, 60], [0.6, 0.9]))
    assert (delta.rate_percent, delta.score) == (None, None)
    assert delta.reason == "the scores and the bitrates of the two curves do not overlap"


def test_curves_that_touch_in_one_point_do_not_overlap() -> None:
    """An overlap of length zero has no mean."""
    delta = bjontegaard(curve([2, 4], [0.3, 0.5]), curve([4, 8], [0.5, 0.7]))
    assert (delta.rate_percent, delta.score) == (None, None)


def test_points_that_nobody_would_choose_are_left_out_and_counted() -> None:
    """A dearer point that scores no higher bends the curve back; without it the delta is that of the others."""
    bent = [*FIRST, RatePoint(350.0, 36.0), RatePoint(309.58, 37.0)]
    delta = bjontegaard(bent, SECOND)
    straight = bjontegaard(FIRST, SECOND)
    assert delta.left_out == (2, 0)
    assert delta.rate_percent == straight.rate_percent
    assert delta.score == straight.score


def test_order_of_points_does_not_matter() -> None:
    """Points are sorted by bitrate."""
    assert bjontegaard(FIRST[::-1], SECOND) == bjontegaard(FIRST, SECOND)


@pytest.mark.parametrize("point", [RatePoint(0, 1), RatePoint(-3, 1), RatePoint(math.nan, 1), RatePoint(3, math.inf)])
def test_a_point_without_meaning_is_an_error(point: RatePoint) -> None:
    """A bitrate of zero has no logarithm; NaN never becomes a delta."""
    with pytest.raises(PipelineError, match="above 0 kbps"):
        bjontegaard([*FIRST, point], SECOND)
