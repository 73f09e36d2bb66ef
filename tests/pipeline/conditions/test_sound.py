"""Conditions of the sound: levels, ratios, bands and decay times are those that were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal
from support.audio import speech_like
from support.profile import examples

from codec_superb.metrics.noise.mixing import Inapplicable, mixed
from codec_superb.metrics.noise.random_numbers import Floats, gaussian, stream, uniform
from codec_superb.pipeline.conditions.sound import level_gain, reverberated, room, telephone

RATE = 16000


def _decibels(ratio: float) -> float:
    return float(10 * np.log10(ratio))


def _speech(seconds: float = 2.0, rate: int = RATE) -> Floats:
    return speech_like(seconds, rate, seed=3).astype(np.float64)


@given(snr=st.floats(-20, 60), clip=st.text(min_size=1, max_size=8))
@examples(40)
def test_the_ratio_of_a_mixture_is_the_one_asked_for(snr: float, clip: str) -> None:
    """To a millionth of a decibel, over the whole clip, whatever the noise."""
    clean = _speech(0.5)
    made = mixed(clean, 17.0 * gaussian(stream("noise:white", clip), clean.size), snr)
    measured = _decibels(float(np.sum(clean**2)) / float(np.sum((made - clean) ** 2)))
    assert measured == pytest.approx(snr, abs=1e-6)


def test_white_noise_is_gaussian_and_white() -> None:
    """Moments of a million draws and a flat spectrum; known draws pin the generator to PCG64's raw output."""
    drawn = gaussian(stream("noise:white", "clip"), 1_000_000)
    assert drawn.mean() == pytest.approx(0, abs=4e-3)
    assert drawn.var() == pytest.approx(1, abs=6e-3)
    assert np.mean(drawn**4) == pytest.approx(3, abs=0.03)
    _, spectrum = signal.welch(drawn, fs=RATE, nperseg=256)
    assert np.abs(10 * np.log10(spectrum[2:-2] / spectrum[2:-2].mean())).max() < 0.3
    known = np.random.PCG64(5).random_raw(4)
    assert uniform(np.random.PCG64(5), 4).tolist() == [(int(raw) >> 11) / 2**53 for raw in known]


def test_the_noise_of_a_clip_depends_on_its_id_alone() -> None:
    """Another clip or kind has another; a longer clip's begins with the shorter one's."""
    first, longer = (gaussian(stream("noise:white", "a"), count) for count in (100, 1001))
    assert np.array_equal(first, longer[:100])
    for other in (stream("noise:white", "b"), stream("reverb", "a")):
        assert not np.array_equal(first, gaussian(other, 100))


@pytest.mark.parametrize("level", [-60.0, -30.0, -3.5, 0.0])
def test_the_largest_sample_stands_at_the_level(level: float) -> None:
    """20 log10 of it is the level in dBFS, of either sign."""
    clean = -_speech()
    assert 20 * np.log10(np.abs(level_gain(clean, level) * clean).max()) == pytest.approx(level, abs=1e-9)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 44100, 48000])
def test_the_telephone_band_is_flat_inside_and_gone_outside(rate: int) -> None:
    """Its response: within 0.02 dB from 300 to 3,400 Hz, 60 dB down below 100 and above 3,600 Hz, no delay."""
    click = np.zeros(2 * rate)
    click[rate] = 1.0
    response = np.abs(np.fft.rfft(telephone(click, rate)))
    hertz = np.fft.rfftfreq(2 * rate, 1 / rate)
    inside = response[(hertz >= 300) & (hertz <= 3400)]
    assert np.abs(20 * np.log10(inside)).max() < 0.02
    outside = (hertz <= 100) | ((hertz >= 3600) & (hertz < rate / 2 + (rate > 8000)))
    assert 20 * np.log10(response[outside].max()) <= -60
    assert int(np.argmax(telephone(click, rate))) == rate


def test_the_band_fits_low_rates() -> None:
    """Below 7.2 kHz only the high-pass is left; below 1 kHz there is no band."""
    assert telephone(_speech(1.0, 6000), 6000).shape == (6000,)
    with pytest.raises(Inapplicable, match="1000 Hz"):
        telephone(np.ones(100), 900)


@pytest.mark.parametrize("rt60", [0.2, 0.6, 1.5])
@pytest.mark.parametrize("rate", [16000, 44100])
def test_the_room_decays_by_sixty_decibels_in_its_time(rt60: float, rate: int) -> None:
    """Schroeder's backward integral of the response, fitted from 5 to 25 dB below its start (T20), within 5 %."""
    response = room(stream("reverb", "clip"), rt60, rate)
    assert response[0] == 1.0
    assert np.all(response[1 : int(0.002 * rate) - 1] == 0)
    assert np.sum(response[1:] ** 2) == pytest.approx(1.0)
    decay = 10 * np.log10(np.cumsum(response[::-1] ** 2)[::-1] / np.sum(response**2))
    fitted = (decay <= -5) & (decay >= -25)
    slope, _ = np.polyfit(np.flatnonzero(fitted) / rate, decay[fitted], 1)
    assert -60 / slope == pytest.approx(rt60, rel=0.05)


def test_reverberation_keeps_power_and_place() -> None:
    """The power and the length are the clip's, and the direct path is not delayed."""
    clean = _speech()
    wet = reverberated(clean, room(stream("reverb", "clip"), 0.6, RATE))
    assert wet.shape == clean.shape
    assert np.mean(wet**2) == pytest.approx(np.mean(clean**2))
    lag = int(np.argmax(signal.correlate(wet, clean, method="fft"))) - (clean.size - 1)
    assert lag == 0


def test_silence_has_no_level() -> None:
    """What refers to the level of a clip refuses one of zeros."""
    silence, noise = np.zeros(100), np.ones(100)
    for refused in (lambda: mixed(silence, noise, 10), lambda: level_gain(silence, -10)):
        with pytest.raises(Inapplicable, match="not silent"):
            refused()
