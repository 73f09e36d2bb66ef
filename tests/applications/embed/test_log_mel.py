"""The log-mel encoder: sizes in seconds are seconds, a tone lies where its pitch is, and librosa agrees."""

from __future__ import annotations

import numpy as np
import pytest
from support.applications.sound_events import noise, scores, sound, tone
from support.librosa_uncompiled import librosa

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.log_mel import FLOOR, LogMelFrames
from codec_superb.applications.errors import ApplicationError, PredictionFailed


def loaded(spec: str) -> LogMelFrames:
    """Open a backend as a worker does."""
    backend = open_backend(spec)
    assert isinstance(backend, LogMelFrames)
    backend.load(backend.prepare(), "cpu", 1)
    return backend


@pytest.mark.parametrize(
    ("options", "samples", "frames"),
    [("", 400, 1), ("", 559, 1), ("", 560, 2), ("", 16_000, 98), (":,window_s=0.064,hop_s=0.02", 1024 + 320, 2)],
)
def test_windows_and_hops_are_seconds(options: str, samples: int, frames: int) -> None:
    """A window of 25 ms every 10 ms is 400 samples every 160 at 16 kHz, not 25 every 10."""
    (found,) = loaded(f"log-mel-frames{options}").predict([sound(noise(samples / 16_000))])
    assert np.shape(np.asarray(found)) == (frames, 80)


def test_one_sample_less_than_a_window_has_no_frame() -> None:
    """It fails with its length."""
    (found,) = loaded("log-mel-frames").predict([sound(noise(399 / 16_000))])
    assert isinstance(found, PredictionFailed)
    assert "399 samples" in str(found)


@pytest.mark.parametrize("hertz", [250.0, 1000.0, 3000.0])
def test_a_tone_lies_in_the_band_of_its_pitch(hertz: float) -> None:
    """The loudest band is the one whose centre is nearest to the tone; a tone ten times as loud is ln 100 more."""
    backend = loaded("log-mel-frames")
    loud, soft = scores(backend.predict([sound(tone(hertz, 0.5)), sound(0.1 * tone(hertz, 0.5))]))
    centres = librosa.mel_frequencies(82, fmin=0, fmax=8000)[1:-1]
    band = int(loud.mean(axis=0).argmax())
    assert abs(centres[band] - hertz) == np.abs(centres - hertz).min()
    assert np.diff([soft[:, band].mean(), loud[:, band].mean()])[0] == pytest.approx(np.log(100), abs=1e-4)


def test_librosa_agrees() -> None:
    """The same powers as librosa's, of frames that begin where the sound does."""
    samples = noise(0.5) + tone(700, 0.5)
    power = librosa.feature.melspectrogram(
        y=samples.astype(np.float64), sr=16_000, n_fft=512, win_length=512, hop_length=160, center=False, n_mels=80,
        window=np.pad(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400), (0, 112)), fmax=8000.0,
    )  # fmt: skip
    (found,) = scores(loaded("log-mel-frames").predict([sound(samples)]))
    np.testing.assert_allclose(found[: power.shape[1]], np.log(power.T), atol=1e-4)


def test_silence_is_the_floor_and_a_vector_the_mean() -> None:
    """No power is the logarithm of the floor; the vector is the mean of the frames, its options its identity."""
    (silent,) = scores(loaded("log-mel-vectors").predict([sound(np.zeros(1600))]))
    assert silent == pytest.approx(np.full(80, np.log(FLOOR)))
    frames = scores(loaded("log-mel-frames").predict([sound(noise(1.0))]))[0]
    vectors = loaded("log-mel-vectors")
    np.testing.assert_allclose(scores(vectors.predict([sound(noise(1.0))]))[0], frames.mean(axis=0), rtol=1e-6)
    last = loaded("log-mel-vectors:,pooling=last")
    np.testing.assert_array_equal(scores(last.predict([sound(noise(1.0))]))[0], frames[-1])
    assert last.prepare().settings != vectors.prepare().settings
    assert vectors.prepare().settings["window_s"] == 0.025


@pytest.mark.parametrize("options", [",hop_s=0", ",bands=0", ",window_s=-1", ",pooling=median", "large"])
def test_sizes_that_are_none_are_refused(options: str) -> None:
    """Before anything is computed."""
    with pytest.raises(ApplicationError):
        open_backend(f"log-mel-vectors:{options}").prepare()
