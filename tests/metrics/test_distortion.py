"""SI-SDR and SDR against numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.metrics import noise, speech

from codec_superb.metrics.distortion import sdr, si_sdr
from codec_superb.metrics.errors import Undefined

RATE = 16_000
TIME = np.arange(RATE) / RATE
SINE, COSINE = np.sin(2 * np.pi * 100 * TIME), np.cos(2 * np.pi * 100 * TIME)


def test_known_ratios() -> None:
    """An orthogonal tenth of the amplitude is 20 dB; half the level costs SDR 6.02 dB."""
    assert si_sdr(SINE, SINE + 0.1 * COSINE, RATE) == pytest.approx(20.0, abs=1e-9)
    assert sdr(SINE, SINE + 0.1 * COSINE, RATE) == pytest.approx(20.0, abs=1e-9)
    assert sdr(SINE, 0.5 * SINE, RATE) == pytest.approx(20 * np.log10(2.0), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 0.5, -1.0, 700.0])
def test_si_sdr_ignores_scale_and_offset(scale: float) -> None:
    """Neither the level (or sign) of the resynthesis nor a constant in it changes SI-SDR."""
    degraded = SINE + noise(level=0.05)
    assert si_sdr(SINE, scale * degraded + 0.3, RATE) == pytest.approx(si_sdr(SINE, degraded, RATE), abs=1e-6)


def test_one_sample_of_delay_costs_what_is_known() -> None:
    """Clean speech delayed by one sample is left with about 11 dB."""
    x = speech(seconds=4.0)
    assert si_sdr(x, np.concatenate([[0.0], x[:-1]]), RATE) == pytest.approx(11.0, abs=2.0)


def test_a_perfect_copy_is_infinite_and_therefore_undefined() -> None:
    """Identity has no finite ratio: undefined with the reason infinite; SI-SDR says so of a scaled copy, too."""
    with pytest.raises(Undefined, match=r"^infinite$"):
        sdr(SINE, SINE.copy(), RATE)
    with pytest.raises(Undefined, match=r"^infinite$"):
        si_sdr(SINE, 0.7 * SINE, RATE)


@pytest.mark.parametrize("flat", [np.zeros(RATE), np.full(RATE, 0.3)])
def test_nothing_to_compare_is_undefined(flat: np.ndarray) -> None:
    """A silent or constant reference or resynthesis leaves SI-SDR without meaning."""
    with pytest.raises(Undefined, match="reference is silent or constant"):
        si_sdr(flat, SINE, RATE)
    with pytest.raises(Undefined, match="resynthesis is silent or constant"):
        si_sdr(SINE, flat, RATE)


def test_sdr_of_silence() -> None:
    """A silent reference is undefined; a silent resynthesis is 0 dB, for all of the signal is missing."""
    with pytest.raises(Undefined, match="reference is silent"):
        sdr(np.zeros(RATE), SINE, RATE)
    assert sdr(SINE, np.zeros(RATE), RATE) == 0.0


def test_an_unrelated_resynthesis_is_undefined_only_when_nothing_is_left() -> None:
    """An orthogonal resynthesis has no finite SI-SDR; unrelated noise has a low one."""
    square = np.tile([1.0, 1.0, -1.0, -1.0], 100)
    with pytest.raises(Undefined, match="minus infinite"):
        si_sdr(square, np.tile([1.0, -1.0, -1.0, 1.0], 100), RATE)
    assert si_sdr(SINE, noise(), RATE) < -10.0
