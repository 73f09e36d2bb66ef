"""How far a score lies from its bitrate band."""

from __future__ import annotations

import pytest

from codec_superb.server.moderation.score_deviation import deviation

BAND = [0.5, 0.52, 0.54, 0.56, 0.58]


def test_worked_example() -> None:
    """The numbers of the docstring."""
    found = deviation(0.9, BAND)
    assert found is not None
    assert found.median == 0.54
    assert found.sigmas == pytest.approx((0.9 - 0.54) / (1.4826 * 0.02))


def test_one_odd_codec_does_not_hide_another() -> None:
    """The spread is robust: a single wild score in the band changes little."""
    plain, wild = deviation(0.2, BAND), deviation(0.2, [*BAND[:-1], 0.99])
    assert plain is not None
    assert wild is not None
    assert wild.sigmas == pytest.approx(plain.sigmas)


def test_few_codecs_make_no_band() -> None:
    """Fewer than five say nothing."""
    assert deviation(0.9, BAND[:4]) is None


def test_codecs_that_agree_make_nobody_an_outlier() -> None:
    """Equal scores have no spread; a difference of one hundredth is one sigma even so."""
    found = deviation(0.51, [0.5] * 6)
    assert found is not None
    assert found.sigmas == pytest.approx(1.0)
