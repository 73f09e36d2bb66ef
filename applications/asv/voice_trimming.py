"""Prepares a clip for the GE2E encoder: raises the level of quiet clips and removes long silences.

Reimplements the preparation of the package Resemblyzer 0.1.4 (Apache-2.0, ``resemblyzer/audio.py``), on which its model
was trained: RMS level raised to -30 dBFS, never lowered; windows of 30 ms through WebRTC's voice activity detector in
its strictest mode, its answers averaged over eight windows and widened by three windows to each side.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Samples

RATE = 16_000
LEVEL_DBFS = -30.0
# WebRTC's detector takes 10, 20 or 30 ms at a time; 3 is its strictest mode
WINDOW = 480
"""Samples of 30 ms."""
STRICTEST = 3
_AVERAGED = 8
_WIDENED = 3
_FULL_SCALE = 2**15 - 1


def trim_silences(samples: Samples) -> Samples:
    """Return the clip, shape ``(samples,)`` at 16 kHz, with its level raised and without long silences.

    Raises PredictionFailed for a clip that is silent, holds numbers that are not finite, or in which the detector finds
    no speech. (Resemblyzer embeds an empty clip as silence, and so finds one speaker in all clips without speech.)
    """
    if not np.isfinite(samples).all():
        raise PredictionFailed("the clip holds samples that are not finite")
    if not samples.any():
        raise PredictionFailed("the clip is silent: no speaker can be told")
    windows = _raised(samples)[: samples.size // WINDOW * WINDOW].reshape(-1, WINDOW)
    kept = windows[windows_to_keep(speech_windows(windows))] if len(windows) else windows
    if not kept.size:
        raise PredictionFailed("the voice activity detector finds no speech in the clip: no speaker can be told")
    return kept.reshape(-1)


def _raised(samples: Samples) -> Samples:
    """Raise the RMS level to -30 dBFS; a louder clip stays as it is."""
    level = 10.0 * math.log10(float(np.mean(np.square(samples, dtype=np.float64))))
    return samples if level > LEVEL_DBFS else (samples * 10.0 ** ((LEVEL_DBFS - level) / 20.0)).astype(np.float32)


def speech_windows(windows: Samples) -> NDArray[np.bool_]:
    """Return which windows, shape ``(windows, 480)``, hold speech; in order, because the detector keeps a state.

    Samples beyond ±1 are clipped for the detector, as a converter would; Resemblyzer lets them wrap around.
    """
    import webrtcvad

    detector = webrtcvad.Vad(STRICTEST)
    coded = np.clip(np.rint(windows * _FULL_SCALE), -_FULL_SCALE - 1, _FULL_SCALE).astype("<i2")
    return np.array([detector.is_speech(window.tobytes(), RATE) for window in coded], dtype=np.bool_)


def windows_to_keep(speech: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Decide which windows stay: more than half of eight hold speech (three before, four after), or one beside does."""
    count = np.convolve(speech, np.ones(_AVERAGED, np.int64))[_AVERAGED // 2 :][: speech.size]
    majority = count > _AVERAGED // 2
    width = 2 * _WIDENED + 1
    return np.convolve(majority, np.ones(width, np.int64))[_WIDENED:][: speech.size] > 0
