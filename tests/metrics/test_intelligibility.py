"""STOI and ESTOI against pystoi, and where that invents a number."""

from __future__ import annotations

import numpy as np
import pystoi
import pytest
from scipy.signal import butter, sosfilt
from support.metrics import coded, noise, speech

from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.intelligibility import estoi, stoi

RATE = 16_000


@pytest.mark.sample(5)
@pytest.mark.parametrize("rate", [8_000, 10_000, 11_025, 16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("level", [0.002, 0.05])
def test_scores_equal_pystoi(rate: int, level: float) -> None:
    """Both agree with pystoi to 1e-6 at every usual rate, for little noise and for much."""
    x = speech(rate)
    y = coded(x, rate, noise=level)
    assert stoi(x, y, rate) == pytest.approx(pystoi.stoi(x, y, rate), abs=1e-6)
    assert estoi(x, y, rate) == pytest.approx(pystoi.stoi(x, y, rate, extended=True), abs=1e-6)


def test_identity_is_one() -> None:
    """A signal with itself scores 1."""
    x = speech()
    assert stoi(x, x, RATE) == pytest.approx(1.0, abs=1e-12)
    assert estoi(x, x, RATE) == pytest.approx(1.0, abs=1e-12)


def test_a_delay_of_20_ms_costs_a_lot() -> None:
    """Speech delayed by 20 ms is scored as pystoi scores it, well below 0.9."""
    x = speech(seconds=4.0)
    late = np.concatenate([np.zeros(320), x])[: x.size]
    assert stoi(x, late, RATE) == pytest.approx(pystoi.stoi(x, late, RATE), abs=1e-6)
    assert stoi(x, late, RATE) < 0.9


def test_a_negative_correlation_is_clipped_for_stoi_alone() -> None:
    """STOI of unrelated noise may be negative in pystoi and is 0 here; ESTOI keeps its sign."""
    values = []
    for seed in range(12):
        x = noise(10_000, 0.55, seed)
        y = noise(10_000, 0.55, seed + 100)
        raw, extended = pystoi.stoi(x, y, 10_000), pystoi.stoi(x, y, 10_000, extended=True)
        assert stoi(x, y, 10_000) == pytest.approx(max(raw, 0.0), abs=1e-6)
        assert estoi(x, y, 10_000) == pytest.approx(extended, abs=1e-6)
        values.append(extended)
    assert min(values) < 0.0


@pytest.mark.filterwarnings("ignore:Not enough STFT frames")
def test_too_little_sound_is_undefined_exactly_where_pystoi_invents_a_number() -> None:
    """Where pystoi warns and returns 1e-5 the score is undefined, and nowhere else."""
    for samples in range(3_900, 4_400, 37):
        x = noise(10_000, 1.0)[:samples]
        y = x + noise(10_000, 1.0, seed=9, level=0.01)[:samples]
        expected = pystoi.stoi(x, y, 10_000)
        if expected == 1e-5:
            with pytest.raises(Undefined, match="frames of sound; STOI needs 30"):
                stoi(x, y, 10_000)
        else:
            assert stoi(x, y, 10_000) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("samples", [1, 255, 256, 257, 600])
def test_tiny_clips_are_undefined(samples: int) -> None:
    """Clips shorter than the analysis are undefined, never an index error."""
    with pytest.raises(Undefined, match="STOI needs 30"):
        stoi(noise(10_000)[:samples], noise(10_000)[:samples], 10_000)


def test_silence() -> None:
    """A silent reference is undefined; a silent resynthesis scores 0 in both, every time the same."""
    x = speech(seconds=1.5)
    with pytest.raises(Undefined, match="reference is silent"):
        estoi(np.zeros(RATE), noise(), RATE)
    assert stoi(x, np.zeros_like(x), RATE) == 0.0
    assert estoi(x, np.zeros_like(x), RATE) == 0.0


def test_long_pauses_do_not_count() -> None:
    """Silence before and after is removed before the comparison, as in pystoi."""
    x = np.concatenate([np.zeros(RATE), speech(seconds=1.5), np.zeros(RATE)])
    y = x + noise(seconds=3.5, level=1e-3)
    assert stoi(x, y, RATE) == pytest.approx(pystoi.stoi(x, y, RATE), abs=1e-6)


def test_bands_that_the_resynthesis_lacks_are_compared_exactly() -> None:
    """A resynthesis without any sound above 800 Hz is scored as pystoi scores it: its faint rest is no rounding."""
    x = speech()
    y = sosfilt(butter(16, 800.0, fs=RATE, output="sos"), x)
    assert stoi(x, y, RATE) == pytest.approx(pystoi.stoi(x, y, RATE), abs=1e-6)
    assert estoi(x, y, RATE) == pytest.approx(pystoi.stoi(x, y, RATE, extended=True), abs=1e-6)
