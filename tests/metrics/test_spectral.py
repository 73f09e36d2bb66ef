"""The STFT and mel distances against a plain composition of scipy and librosa in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.librosa_uncompiled import librosa
from support.metrics import coded, noise, speech

from codec_superb.metrics import spectral
from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.mel_scale import hz_to_mel, mel_filters, mel_to_hz
from codec_superb.metrics.spectral import mel, stft

RATE = 16_000


def magnitudes(x: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return librosa's magnitude spectrum with the conventions of the distance."""
    spectrum = librosa.stft(x, n_fft=window, hop_length=window // 4, window="hann", center=True, pad_mode="reflect")
    return np.abs(spectrum)


def distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the formula of METRICS for one resolution."""
    log = [np.log10(np.maximum(m, 1e-5) ** 2) for m in (a, b)]
    return float(np.mean(np.abs(log[0] - log[1])) + np.mean(np.abs(a - b)))


def plain_stft(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the STFT distance, slowly."""
    return sum(distance(magnitudes(x, window), magnitudes(y, window)) for window in (2048, 512))


def plain_mel(x: NDArray[np.float64], y: NDArray[np.float64], rate: int) -> float:
    """Return the mel distance, slowly."""
    total = 0.0
    for window, bands in ((2048, 150), (512, 80)):
        bank = librosa.filters.mel(sr=rate, n_fft=window, n_mels=bands, dtype=np.float64)
        total += distance(bank @ magnitudes(x, window), bank @ magnitudes(y, window))
    return total


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore:Empty filters detected")
@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
def test_distances_equal_the_plain_composition(rate: int) -> None:
    """Both distances agree with librosa to 1e-5 relative, at every usual rate."""
    x = speech(rate, seconds=1.7)
    y = coded(x, rate)
    assert stft(x, y, rate) == pytest.approx(plain_stft(x, y), rel=1e-5)
    assert mel(x, y, rate) == pytest.approx(plain_mel(x, y, rate), rel=1e-5)


@pytest.mark.filterwarnings("ignore:n_fft=2048 is too large")
@pytest.mark.parametrize("samples", [1025, 1026, 2047, 2048, 2049, 40_000])
def test_distances_hold_at_every_length(samples: int) -> None:
    """The shortest clips and those whose length is no multiple of the hop agree as well."""
    x, y = noise(seed=1, seconds=3.0)[:samples], noise(seed=2, seconds=3.0)[:samples]
    assert stft(x, y, RATE) == pytest.approx(plain_stft(x, y), rel=1e-5)


@pytest.mark.filterwarnings("ignore:Empty filters detected")
@pytest.mark.parametrize("rate", [1_000, 8_000, 16_000, 44_100, 96_000])
@pytest.mark.parametrize(("window", "bands"), [(2048, 150), (512, 80)])
def test_mel_filters_equal_librosa(rate: int, window: int, bands: int) -> None:
    """The filters are librosa's defaults: Slaney scale, Slaney area normalisation, 0 Hz to half the rate."""
    expected = librosa.filters.mel(sr=rate, n_fft=window, n_mels=bands, dtype=np.float64)
    np.testing.assert_allclose(mel_filters(rate, window, bands), expected, atol=1e-12)


def test_mel_scale_is_inverted_and_anchored() -> None:
    """1000 Hz is 15 mel, and both directions undo each other."""
    hz = np.array([0.0, 10.0, 999.0, 1000.0, 1001.0, 20_000.0])
    assert hz_to_mel(np.array(1000.0)) == pytest.approx(15.0)
    np.testing.assert_allclose(mel_to_hz(hz_to_mel(hz)), hz, rtol=1e-12)


def test_identical_signals_have_no_distance() -> None:
    """A signal with itself gives exactly 0, silence included."""
    x = speech(seconds=1.0)
    assert stft(x, x, RATE) == mel(x, x, RATE) == 0.0
    assert stft(np.zeros(RATE), np.zeros(RATE), RATE) == 0.0


def test_half_the_level_gives_the_worked_number() -> None:
    """Half the level of noise costs 2 log10 4 in the logarithms and half of the mean magnitudes."""
    x = noise(level=1.0)
    halves = sum(0.5 * magnitudes(x, window).mean() for window in (2048, 512))
    assert stft(x, 0.5 * x, RATE) == pytest.approx(2 * np.log10(4.0) + halves, rel=1e-4)


def test_level_counts_below_the_floor_as_the_floor() -> None:
    """Differences below 1e-5 of magnitude do not count in the logarithm."""
    quiet = noise(level=1e-9)
    assert stft(quiet, 10 * quiet, RATE) < 1e-6


@pytest.mark.parametrize("samples", [1, 100, 1024])
def test_a_clip_shorter_than_the_reflection_is_undefined(samples: int) -> None:
    """Up to half of the longest window there is nothing to reflect: undefined, with the lengths in the reason."""
    with pytest.raises(Undefined, match=f"{samples} samples.*more than 1024"):
        mel(np.ones(samples), np.ones(samples), RATE)


def test_a_long_reference_is_streamed_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference too long to be kept gives bit for bit what a kept one gives."""
    x = speech(seconds=6.0)
    y = coded(x, RATE)
    kept = stft(x, y, RATE), mel(x, y, RATE)
    monkeypatch.setattr(spectral, "_KEPT_VALUES", 0)
    assert (stft(x, y, RATE), mel(x, y, RATE)) == kept


def test_distance_grows_with_noise() -> None:
    """More noise is never nearer."""
    x = speech(seconds=1.0)
    for function in (stft, mel):
        values = [function(x, x + noise(level=level), RATE) for level in (1e-4, 1e-3, 1e-2, 1e-1)]
        assert values == sorted(values)
