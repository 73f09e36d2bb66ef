"""The autocorrelation pitch finds frame by frame what Praat finds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import parselmouth
import pytest
from support.metrics import coded, noise, singing, speech

from codec_superb.metrics.praat.tracker import PitchSettings, track

PUBLISHED = PitchSettings(50.0, 1100.0, voicing_threshold=0.6, step=256)
RATES = [4_000, 8_000, 16_000, 22_050, 44_100, 48_000]


def praat(sound: np.ndarray, rate: int, analysis: PitchSettings = PUBLISHED) -> np.ndarray:
    """Return Praat's F0 per frame."""
    pitch = parselmouth.Sound(sound, rate).to_pitch_ac(
        time_step=analysis.step / rate,
        voicing_threshold=analysis.voicing_threshold,
        pitch_floor=analysis.floor,
        pitch_ceiling=analysis.ceiling,
    )
    return np.asarray(pitch.selected_array["frequency"])


def tone(frequency: float) -> Callable[[int, float], np.ndarray]:
    """Return a maker of pure tones."""
    return lambda rate, seconds: 0.3 * np.sin(2 * np.pi * frequency * np.arange(int(rate * seconds)) / rate)


def rising(rate: int, seconds: float) -> np.ndarray:
    """Return a tone that rises from 50 Hz through the whole range and beyond."""
    time = np.arange(int(rate * seconds)) / rate
    return np.sin(2 * np.pi * (50.0 * time + 600.0 * time**2))


def poor_speech(rate: int, seconds: float) -> np.ndarray:
    """Return speech through a poor codec."""
    return coded(speech(rate, seconds), rate, noise=0.1, cutoff=0.4 * min(rate, 8_000))


SOUNDS = {"speech": speech, "singing": singing, "coded": poor_speech, "noise": noise, "rising": rising}
TONES = {"many periods": tone(1050.0), "too high": tone(1900.0), "low": tone(52.0)}
SOUNDS |= TONES


@pytest.mark.sample(6)
@pytest.mark.sample(2, over="rate")
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", SOUNDS)
def test_pitch_equals_praat(name: str, rate: int) -> None:
    """The same frames are voiced, and their pitch agrees to 1e-5; that of a tone, whose maxima are flat, to 1e-4."""
    sound = SOUNDS[name](rate, 1.2)
    expected, found = praat(sound, rate), track(sound, rate, PUBLISHED)
    np.testing.assert_array_equal(found > 0.0, expected > 0.0)
    voiced = expected > 0.0
    np.testing.assert_allclose(found[voiced], expected[voiced], rtol=1e-4 if name in TONES else 1e-5)


@pytest.mark.parametrize("samples", [960, 961, 1215, 1216, 1217, 5001])
def test_frames_stand_where_praat_puts_them(samples: int) -> None:
    """Number and place of the frames are Praat's at every length, the shortest included."""
    sound = singing(16_000, 1.0)[:samples]
    np.testing.assert_allclose(track(sound, 16_000, PUBLISHED), praat(sound, 16_000), rtol=1e-4)


def test_other_settings_equal_praat() -> None:
    """Range, threshold and step are parameters, not constants of the published metric."""
    analysis = PitchSettings(75.0, 600.0, voicing_threshold=0.45, step=160)
    sound = speech(16_000, 1.2)
    np.testing.assert_allclose(track(sound, 16_000, analysis), praat(sound, 16_000, analysis), rtol=1e-3)


def test_silence_and_too_short_clips_have_no_pitch() -> None:
    """Silence and constants are unvoiced in every frame; a clip shorter than the window has no frame."""
    for flat in (np.zeros(8_000), np.full(8_000, 0.5)):
        assert not track(flat, 16_000, PUBLISHED).any()
    assert track(noise(16_000, 0.05), 16_000, PUBLISHED).size == 0
