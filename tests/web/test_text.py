"""Numbers and names as they are written."""

import math

import pytest
from support.web.report import TABLE

from codec_superb.web import text
from codec_superb.web.quantity import SCORE, from_metric


@pytest.mark.parametrize(
    ("value", "decimals", "written"),
    [(1.2345, 2, "1.23"), (-3.5, 1, "−3.5"), (-0.04, 1, "0.0"), (None, 2, "–"), (12, 0, "12")],
)
def test_number(value: float | None, decimals: int, written: str) -> None:
    """Fixed digits, a true minus, no negative zero, a dash for nothing."""
    assert text.number(value, decimals) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.7, "0.70"),
        (9.996, "10.0"),
        (12.84, "12.8"),
        (99.96, "100"),
        (0.0994, "0.099"),
        (0.00052, "0.00052"),
        (1e-300, "< 0.0001"),
        (0, "0.00"),
        (math.nan, "–"),
    ],
)
def test_kbps(value: float | None, written: str) -> None:
    """Bitrates carry about three digits at any size."""
    assert text.kbps(value) == written


@pytest.mark.parametrize(
    ("value", "written"), [(0.00417, "0.0042"), (43.2, "43"), (0, "0"), (None, "–"), (0.0999, "0.10")]
)
def test_significant(value: float | None, written: str) -> None:
    """Real-time factors are written without exponents."""
    assert text.significant(value) == written


def test_rank_and_interval() -> None:
    """One place is one number; an interval with an unknown end is not written."""
    assert (text.rank((2, 2)), text.rank((2, 4)), text.rank(None)) == ("2", "2–4", "–")
    assert (text.interval(1, 2, 1), text.interval(None, 2, 1)) == ("[1.0, 2.0]", "")


def test_chart_text_is_harmless() -> None:
    """Tags, entities, control characters and endless names become short plain text."""
    assert text.chart_text("a\n<b>&lt;\udcff") == "a &lt;b&gt;&amp;lt; "
    assert len(text.chart_text("x" * 500, 30)) == 30


def test_digits_fit_the_quantity() -> None:
    """Narrow ranges get three decimals, decibels one, others two."""
    assert SCORE.write(0.12345) == "0.123"
    assert [from_metric(TABLE[key]).write(0.98765) for key in ("stoi", "si_sdr", "mel", "pesq")] == [
        "0.988",
        "1.0",
        "0.99",
        "0.99",
    ]
