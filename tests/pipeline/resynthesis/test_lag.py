"""The residual lag: exact for what keeps the waveform, none where there is nothing to measure."""

from __future__ import annotations

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray
from support.audio import speech_like

from codec_superb.pipeline.resynthesis import lag
from codec_superb.pipeline.resynthesis.lag import _correlate, _energy, residual_lag

RATE = 16000


def _late(audio: NDArray[np.float32], samples: int) -> NDArray[np.float32]:
    """Shift by ``samples``, keeping the length."""
    return np.roll(np.pad(audio, 9000), samples)[9000:-9000]


@pytest.mark.parametrize("samples", [0, 1, -1, 17, -320, 1024, 7999])
def test_a_shift_is_found_exactly(samples: int) -> None:
    """Late is positive, early negative, up to half a second."""
    audio = speech_like(3, RATE)
    assert residual_lag(audio, _late(audio, samples), RATE) == samples


@pytest.mark.parametrize("rate", [8000, 22050, 48000])
def test_a_codec_that_keeps_only_low_bands_is_measured_exactly(rate: int) -> None:
    """Removing everything above 2 kHz without a phase shift moves nothing, nor does it hide a shift."""
    audio = speech_like(2, rate)
    low = soxr.resample(soxr.resample(audio, rate, 4000, quality="VHQ"), 4000, rate, quality="VHQ")
    low = np.asarray(np.pad(low, (0, 4))[: audio.size], dtype=np.float32)
    assert residual_lag(audio, low, rate) == 0
    assert residual_lag(audio, _late(low, 37), rate) == 37


def test_coding_noise_and_inverted_level_changes_do_not_move_the_lag() -> None:
    """Noise at 10 dB and a gain of a third leave the lag where it is."""
    audio = speech_like(2, RATE)
    noise = np.random.default_rng(1).standard_normal(audio.size).astype(np.float32)
    noisy = np.asarray((audio + 10**-0.5 * float(audio.std()) * noise) / np.float32(3), dtype=np.float32)
    assert residual_lag(audio, _late(noisy, 5), RATE) == 5


def test_a_steady_tone_has_the_smallest_of_its_equal_lags() -> None:
    """A tone fits to itself at every period; zero is the honest answer."""
    tone = np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE).astype(np.float32)
    assert residual_lag(tone, tone, RATE) == 0


def test_unrelated_sound_has_no_lag() -> None:
    """Where no shift makes the two alike, none is claimed."""
    noise = np.random.default_rng(2).standard_normal(3 * RATE).astype(np.float32)
    assert residual_lag(speech_like(3, RATE), 0.1 * noise, RATE) is None


@pytest.mark.parametrize("samples", [1, 2, 5000])
@pytest.mark.parametrize("level", [0.0, 0.5])
def test_silence_and_constants_have_no_lag(samples: int, level: float) -> None:
    """Nothing can be aligned with silence or with a constant."""
    constant = np.full(samples, level, dtype=np.float32)
    assert residual_lag(constant, constant, RATE) is None
    assert residual_lag(speech_like(samples / RATE, RATE), constant, RATE) is None


def test_a_long_clip_is_measured_where_it_is_loud() -> None:
    """Sound in the last seconds of a long silence is found."""
    audio = np.concatenate([np.zeros(30 * RATE, dtype=np.float32), speech_like(2, RATE)])
    assert residual_lag(audio, _late(audio, -3), RATE) == -3


def test_a_lag_with_a_rival_nearly_as_high_is_left_open() -> None:
    """Of two copies nearly as strong, neither is called the lag; a clear winner is."""
    audio = speech_like(3, RATE)
    assert residual_lag(audio, audio * np.float32(0.95) + _late(audio, 300), RATE) is None
    assert residual_lag(audio, audio * np.float32(0.5) + _late(audio, 300), RATE) == 300


@pytest.mark.parametrize(("samples", "length"), [(5000, 4999), (5001, 7), (12345, 1000), (4000, 4000)])
def test_the_loudest_stretch_is_that_of_all_sums(samples: int, length: int) -> None:
    """Energy that is summed stretch by stretch has the very bits of one running sum over the clip."""
    signal = np.random.default_rng(samples).standard_normal(samples).astype(np.float32)
    places = np.arange(0, samples - length + 1, max(1, length // 10))
    running = np.concatenate([[0.0], np.cumsum(np.square(signal, dtype=np.float64))])
    for at in (places, places + length):
        assert np.array_equal(_energy(signal, at), running[at])


@pytest.mark.parametrize("samples", [2, 1601, 32000])
def test_empty_rows_of_a_transform_change_no_bit(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The correlation is that of two transforms of one signal each, and of a division in complex numbers."""
    from scipy import fft

    random = np.random.default_rng(samples)
    x = np.cumsum(random.standard_normal(samples)).astype(np.float32)
    y = (np.roll(x, 5) + random.standard_normal(samples)).astype(np.float32)
    found = [_correlate(x, y, samples // 4)]
    monkeypatch.setattr(lag, "TOGETHER", 2)
    found.append(_correlate(x, y, samples // 4))
    size = fft.next_fast_len(samples + samples // 4 + 1, real=True)
    a, b = (fft.rfft(signal - signal.mean(), size) for signal in (x, y))
    weighted = np.conj(a) * b
    magnitude = np.abs(weighted)
    weighted /= np.sqrt(magnitude + np.float32(np.finfo(np.float32).tiny + 1e-9 * magnitude.max()))
    alone = fft.irfft(weighted, size)
    for correlation, _ in found:
        assert np.array_equal(correlation, np.roll(alone, samples // 4)[: 2 * (samples // 4) + 1])
    assert found[0][1] == found[1][1]
