"""The power spectrogram: sizes in seconds are seconds, a tone has the power that its window gives, gain is squared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import stft
from support.applications.sound_events import noise, scores, sound, tone

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.spectrogram import SpectrogramFrames
from codec_superb.applications.errors import ApplicationError, PredictionFailed


def loaded(spec: str = "spectrogram-frames") -> SpectrogramFrames:
    """Open a backend as a worker does."""
    backend = open_backend(spec)
    assert isinstance(backend, SpectrogramFrames)
    backend.load(backend.prepare(), "cpu", 1)
    return backend


@pytest.mark.parametrize(
    ("options", "samples", "shape"),
    [("", 1024, (1, 513)), ("", 1343, (1, 513)), ("", 1344, (2, 513)), ("", 16_000, (47, 513)),
     (":,window_s=0.025,hop_s=0.01", 560, (2, 201))],
)  # fmt: skip
def test_windows_and_hops_are_seconds(options: str, samples: int, shape: tuple[int, int]) -> None:
    """64 ms every 20 ms are 1,024 samples every 320 at 16 kHz; 25 ms every 10 are no 25 samples every 10."""
    (found,) = loaded(f"spectrogram-frames{options}").predict([sound(noise(samples / 16_000))])
    assert np.shape(np.asarray(found)) == shape


@pytest.mark.parametrize("place", [32, 64, 200])
def test_a_tone_has_its_power_in_its_bin(place: int) -> None:
    """A sine in the middle of a bin: a quarter of its amplitude times the samples of the window, squared."""
    hertz = place * 16_000 / 1024
    loud, soft = scores(loaded().predict([sound(tone(hertz, 0.5)), sound(0.5 * tone(hertz, 0.5))]))
    assert (loud.argmax(axis=1) == place).all()
    amplitude = np.abs(tone(hertz, 0.5)).max()
    assert loud[:, place] == pytest.approx((amplitude * 1024 / 4) ** 2, rel=1e-3)
    np.testing.assert_allclose(soft, loud / 4, rtol=1e-4, atol=1e-3)


def test_scipy_agrees() -> None:
    """The same frames under the same window, scaled back."""
    samples = noise(0.3)
    (found,) = scores(loaded().predict([sound(samples)]))
    _, _, other = stft(samples.astype(np.float64), window="hann", nperseg=1024, noverlap=704, boundary=None,
                       padded=False, scaling="spectrum")  # fmt: skip
    np.testing.assert_allclose(found, (np.abs(other.T) * 512) ** 2, rtol=1e-5, atol=1e-6)


def test_a_short_clip_and_wrong_sizes_are_refused() -> None:
    """With their numbers."""
    (found,) = loaded().predict([sound(noise(1023 / 16_000))])
    assert isinstance(found, PredictionFailed)
    assert "1023 samples" in str(found)
    with pytest.raises(ApplicationError, match="a window and a hop of a sample at least"):
        open_backend("spectrogram-frames:,hop_s=0.00001").prepare()


def test_a_vector_is_the_mean_of_the_frames() -> None:
    """Its sizes and its pooling are its identity, and reach the copy that a worker makes."""
    backend = loaded("spectrogram-vectors:,window_s=0.025,hop_s=0.01")
    (frames,) = scores(loaded("spectrogram-frames:,window_s=0.025,hop_s=0.01").predict([sound(noise(1.0))]))
    (vector,) = scores(backend.predict([sound(noise(1.0))]))
    np.testing.assert_allclose(vector, frames.mean(axis=0), rtol=1e-5)
    assert SpectrogramFrames(backend.variant).options["window_s"] == 0.025
    assert backend.prepare().settings["pooling"] == "mean"
