"""The F0 correlations against compositions of their packages, and where there is no melody to compare."""

from __future__ import annotations

import fastdtw
import numpy as np
import parselmouth
import pytest
import pyworld
from support.metrics import coded, noise, singing, speech

from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.pitch import _pearson, f0corr, f0corr_praat

RATES = [8_000, 16_000, 44_100]


def cents(f0: np.ndarray) -> np.ndarray:
    """Return the voiced frames in cents around their median."""
    contour = 1200 * np.log2(f0[f0 > 0] / 440.0)
    return contour - np.median(contour)


def correlation(x: np.ndarray, y: np.ndarray, path: list[tuple[int, int]]) -> float:
    """Return Pearson's correlation along ``path``."""
    first, second = np.array(path).T
    return float(np.corrcoef(x[first], y[second])[0, 1])


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("make", [speech, singing])
def test_f0corr_equals_its_packages(rate: int, make: type) -> None:
    """The value is that of pyworld's DIO and StoneMask with the package fastdtw."""
    x = make(rate, 1.5)
    y = coded(x, rate, noise=0.05)
    contours = []
    for sound in (x, y):
        f0, times = pyworld.dio(sound, rate, f0_floor=50.0, f0_ceil=1100.0)
        contours.append(cents(pyworld.stonemask(sound, f0, times, rate)))
    expected = correlation(*contours, fastdtw.fastdtw(*contours)[1])
    # the pitches agree to 1e-6 Hz (decision 17); by processor one of these pairs is 1.1e-9 away
    assert f0corr(x, y, rate) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("make", [speech, singing])
def test_f0corr_praat_equals_the_published_composition(rate: int, make: type) -> None:
    """The value is that of Praat's pitch every 256 samples with exact warping."""
    x = make(rate, 1.5)
    y = coded(x, rate, noise=0.05)
    contours = []
    for sound in (x, y):
        pitch = parselmouth.Sound(sound, rate).to_pitch_ac(
            time_step=256 / rate, voicing_threshold=0.6, pitch_floor=50, pitch_ceiling=1100
        )
        contours.append(cents(pitch.selected_array["frequency"]))
    _, path = fastdtw.dtw(*contours)  # exact, as librosa.sequence.dtw, which compiles itself for ten seconds
    assert f0corr_praat(x, y, rate) == pytest.approx(correlation(*contours, path), abs=1e-3)


@pytest.mark.parametrize("function", [f0corr, f0corr_praat])
def test_key_does_not_matter_and_melody_does(function: type) -> None:
    """A transposed melody correlates fully; another sentence much less."""
    assert function(singing(), singing(semitones=1.0), 16_000) > 0.999
    assert function(speech(seed=1), speech(seed=8), 16_000) < 0.999


@pytest.mark.parametrize("function", [f0corr, f0corr_praat])
def test_no_melody_is_undefined(function: type) -> None:
    """Silence and noise without pitch have no correlation; the reason names the signal."""
    sung = singing(seconds=1.0)
    with pytest.raises(Undefined, match="reference is silent"):
        function(np.zeros(16_000), sung, 16_000)
    with pytest.raises(Undefined, match="resynthesis is silent"):
        function(sung, np.zeros(16_000), 16_000)


def test_unvoiced_sound_is_undefined() -> None:
    """Where no frame is voiced there is nothing to correlate."""
    with pytest.raises(Undefined, match="nothing is voiced in the resynthesis"):
        f0corr_praat(singing(seconds=1.0), noise(), 16_000)


@pytest.mark.parametrize(("rate", "seconds"), [(16_000, 0.05), (2_000, 1.0)])
def test_too_short_or_too_slowly_sampled_is_undefined(rate: int, seconds: float) -> None:
    """Less than three periods of 50 Hz, or a rate below 2200 Hz, is undefined, not a package's error."""
    with pytest.raises(Undefined, match=r"needs 0.06 s above 2200 Hz"):
        f0corr(noise(rate, seconds), noise(rate, seconds), rate)


def test_a_pitch_that_never_moves_is_undefined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero variance has no correlation; it is neither 0 nor 1."""
    monkeypatch.setattr("codec_superb.metrics.pitch.world_f0", lambda signal: np.full(10, 220.0))
    with pytest.raises(Undefined, match="pitch of the reference is constant"):
        f0corr(singing(), singing(), 16_000)


@pytest.mark.parametrize("still", [0.0, 5.0], ids=["at its median", "beside it"])
@pytest.mark.parametrize("side", [0, 1], ids=["reference", "resynthesis"])
def test_aligned_frames_that_never_move_are_undefined(side: int, still: float) -> None:
    """Where either side of the path is constant, nothing is divided by nought."""
    frames = [np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0])]
    frames[side] = np.full(3, still)
    with pytest.raises(Undefined, match="constant along the aligned frames"):
        _pearson(*frames)
