"""WARP-Q: how far patches of the resynthesis' cepstra are from the reference's under subsequence time warping.

The raw distance, lower is better, as version 1.5.2 of the authors' package computes it with its defaults at 16 kHz;
nothing is mapped to opinions. The steps, all written here in numpy and compiled loops, so that neither the package
nor librosa is needed:

1. frames without voice (WebRTC, least aggressive, 30 ms, widened by a frame to both sides) are cut out of both signals;
2. 13 cepstral coefficients up to 5 kHz, window 32 ms, a frame every 4 ms, sine-liftered;
3. each coefficient is normalised to mean 0 and variance 1 within a sliding window of 201 frames;
4. patches of 92 frames of the resynthesis, a new one every 42, are each aligned with the best fitting stretch of the
   reference; their steps repeat a frame of the reference or skip two, so that a clip's distance from itself is not 0;
5. the distance is the median over the patches of the cost along the path, over 92.

Papers: Jassim, Skoglund, Chinen and Hines, WARP-Q, ICASSP 2021; Speech quality assessment with WARP-Q, IET Signal
Processing, 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import ClassVar

import numpy as np
import webrtcvad
from numpy.typing import NDArray
from scipy.fft import dct

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Setting, Sound
from codec_superb.applications.model_files import refuse_variant
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.quality.mel_spectrum import MelSpectrum, decibels
from codec_superb.metrics.compiled import compiled

RATE = 16_000
# defaults of the authors' package warpq 1.5.2
COEFFICIENTS, LIFTER = 13, 3
NORMALISED_OVER = 201
PATCH, PATCH_HOP = 92, 42
"""Frames of 4 ms: 0.4 s, 0.2 s and 0.836 s, less half a transform of 64 ms, as the package counts them."""
SKIP = 3
SHORTEST = 6_400
"""Samples of voice that both must have, 0.4 s."""

_VOICE_FRAME = RATE * 30 // 1000
_TINY = 2.0**-30
_BLOCK = 1024
_MEL = MelSpectrum(rate=RATE, transform=1024, window=512, hop=64, bands=128, highest=5_000.0)
_SETTINGS: dict[str, Setting] = {"version": "1.5.2", "score": "median", "voice_only": True, "rate": RATE}

Cepstra = NDArray[np.float64]


class WarpQ(Backend):
    """Answers float32 ``[distance]``, 0 or more, lower is better; there is no model behind it but this procedure."""

    rate: ClassVar[int] = RATE
    needs_reference: ClassVar[bool] = True
    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Name the procedure; the hash is over its parameters, there are no files."""
        refuse_variant("warpq", self.variant)
        listing = ",".join(f"{key}={value}" for key, value in sorted(_SETTINGS.items()))
        return Model("warpq", sha256(f"warpq:{listing}".encode()).hexdigest(), _SETTINGS)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load nothing."""

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Compare each sound with its reference; less than 0.4 s of voice on either side is a PredictionFailed."""
        return one_by_one(self._distance, batch)

    def _distance(self, sound: Sound) -> Prediction:
        if sound.reference is None:
            raise PredictionFailed("warpq compares: expected the reference beside the sound, got none")
        return np.array([distance(sound.reference, sound.samples)], np.float32)


def distance(reference: Samples, resynthesis: Samples) -> float:
    """Return the raw WARP-Q distance of two signals at 16 kHz, each of shape ``(samples,)``.

    Raises PredictionFailed where either has less than 0.4 s of voice.
    """
    sides = {"reference": voiced_samples(reference), "resynthesis": voiced_samples(resynthesis)}
    for name, side in sides.items():
        if side.size < SHORTEST:
            raise PredictionFailed(f"warpq needs 0.4 s of voice, the {name} has {side.size / RATE:.2f} s")
    costs = patch_costs(normalised(cepstra(sides["resynthesis"])), normalised(cepstra(sides["reference"])))
    return float(np.median(costs))


def voiced_samples(samples: Samples) -> Samples:
    """Return the samples of frames in which WebRTC's detector finds voice, or in a neighbouring frame."""
    scaled = np.clip(np.asarray(samples, np.float32) * 2.0**15, -(2.0**15), 2.0**15 - 1).astype(np.int16)
    count = scaled.size // _VOICE_FRAME + 1
    frames = np.pad(scaled, (0, count * _VOICE_FRAME - scaled.size)).reshape(count, _VOICE_FRAME)
    # Mode 0 is the least aggressive.
    detector = webrtcvad.Vad(0)
    heard = np.array([detector.is_speech(frame.tobytes(), RATE) for frame in frames])
    near = np.pad(heard, 1)
    wide = near[:-2] | near[1:-1] | near[2:]
    return np.asarray(samples[np.repeat(wide, _VOICE_FRAME)[: scaled.size]])


def cepstra(samples: Samples) -> Cepstra:
    """Return liftered mel cepstra, shape ``(frames, 13)``."""
    levels = decibels(_MEL.powers(np.asarray(samples, np.float32)))
    coefficients = dct(levels.T, type=2, norm="ortho", axis=1)[:, :COEFFICIENTS]
    # As librosa's lifter.
    lift = 1.0 + LIFTER / 2.0 * np.sin(np.pi * np.arange(1, COEFFICIENTS + 1) / LIFTER)
    return np.asarray(coefficients * lift, dtype=np.float64)


def normalised(features: Cepstra) -> Cepstra:
    """Subtract the mean of the frames around each, then divide by their standard deviation; ends are mirrored."""
    centred = features - _around(features, np.mean)
    return np.asarray(centred / (_around(centred, np.std) + _TINY))


def _around(features: Cepstra, statistic: Callable[..., Cepstra]) -> Cepstra:
    """Return a statistic of the 201 frames around each, by blocks so that a long clip needs little memory."""
    half = NORMALISED_OVER // 2
    # As speechpy's cmvnw.
    padded = np.pad(features, ((half, half), (0, 0)), mode="symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(padded, NORMALISED_OVER, axis=0)
    blocks = [statistic(windows[start : start + _BLOCK], axis=-1) for start in range(0, len(windows), _BLOCK)]
    return np.concatenate(blocks)


def patch_costs(resynthesis: Cepstra, reference: Cepstra) -> NDArray[np.float64]:
    """Return the cost of each patch of ``resynthesis`` on its best path through ``reference``, over its frames."""
    starts = range(0, len(resynthesis) - PATCH + 1, PATCH_HOP)
    aligned = np.ascontiguousarray(reference)
    return np.array([_cost(np.ascontiguousarray(resynthesis[start : start + PATCH]), aligned) for start in starts])


@compiled()
def _cost(patch: Cepstra, reference: Cepstra) -> float:
    """Warp a patch into any stretch of the reference, row by row; steps (1, 0), (0, 3) and (1, 3)."""
    rows, columns, size = patch.shape[0], reference.shape[0], patch.shape[1]
    before, now = np.zeros(columns), np.zeros(columns)
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for k in range(size):
                difference = patch[i, k] - reference[j, k]
                total += difference * difference
            best = before[j]
            if j >= SKIP:
                best = min(best, now[j - SKIP], before[j - SKIP])
            now[j] = best + np.sqrt(total)
        before, now = now, before
    return float(before.min() / rows)
