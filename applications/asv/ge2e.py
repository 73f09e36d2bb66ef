"""The GE2E speaker encoder in numpy: mel spectrum, three LSTM layers, linear layer, ReLU; averaged over 1.6 s windows.

Reimplements what the package Resemblyzer 0.1.4 (Apache-2.0, ``resemblyzer/voice_encoder.py``, ``audio.py``) computes
with torch and librosa, after Wan et al., Generalized End-to-End Loss for Speaker Verification, ICASSP 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Samples
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import mel_filters

RATE = 16_000
WINDOW = 400
"""Samples of a frame, 25 ms."""
HOP = 160
"""Samples from frame to frame, 10 ms."""
BANDS = 40
PARTIAL_FRAMES = 160
"""Frames of a partial utterance, 1.6 s."""
# 100 frames a second over 1.3, rounded
STEP_FRAMES = 77
"""Frames from one partial utterance to the next: 1.3 of them begin in a second."""
LEAST_COVERAGE = 0.75
"""A last partial utterance with less sound than this share is left out."""
LAYERS = 3
BLOCK = 64
"""Partial utterances of a clip that go through the network at once, at most; they bound its memory."""

Array = NDArray[np.float32]


def partial_starts(samples: int) -> NDArray[np.int64]:
    """Return the first frame of each partial utterance of a clip of so many samples; at least one."""
    # Rounded up, as Resemblyzer's compute_partial_slices does.
    frames = -(-(samples + 1) // HOP)
    starts = np.arange(0, max(1, frames - PARTIAL_FRAMES + STEP_FRAMES + 1), STEP_FRAMES)
    coverage = (samples - starts[-1] * HOP) / (PARTIAL_FRAMES * HOP)
    return starts[:-1] if coverage < LEAST_COVERAGE and starts.size > 1 else starts


def mel_spectrum(samples: Samples) -> Array:
    """Return the power mel spectrum, shape ``(frames, 40)``: Hann windows of 25 ms every 10 ms, zeros at the ends.

    As ``librosa.feature.melspectrogram`` since librosa 0.10; before, it mirrored the signal at both ends.
    """
    padded = np.pad(samples, WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    spectrum = np.fft.rfft(frames * hann(WINDOW), axis=1)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    return np.asarray(power @ _filters(), np.float32)


@cache
def _filters() -> NDArray[np.float64]:
    return mel_filters(RATE, WINDOW, BANDS).T


def partial_utterances(samples: Samples) -> Array:
    """Return the mel spectra of all partial utterances of a clip, shape ``(partials, 160, 40)``."""
    starts = partial_starts(samples.size)
    needed = (int(starts[-1]) + PARTIAL_FRAMES) * HOP
    mel = mel_spectrum(np.pad(samples, (0, max(0, needed - samples.size))))
    windows = np.lib.stride_tricks.sliding_window_view(mel, PARTIAL_FRAMES, axis=0)[starts]
    return np.ascontiguousarray(windows.transpose(0, 2, 1))


@dataclass(frozen=True, slots=True)
class _Layer:
    """One LSTM layer; columns of the gates in torch's order: input, forget, cell, output."""

    from_input: Array
    from_hidden: Array
    bias: Array

    def __call__(self, inputs: Array) -> Array:
        """Map ``(steps, sequences, features)`` to the hidden states ``(steps, sequences, cells)``, from zero states."""
        steps, sequences, features = inputs.shape
        gates = (inputs.reshape(-1, features) @ self.from_input + self.bias).reshape(steps, sequences, -1)
        cells = self.from_hidden.shape[0]
        hidden = np.zeros((steps, sequences, cells), np.float32)
        cell = np.zeros((sequences, cells), np.float32)
        last = cell
        for step, gate in enumerate(gates):
            # sigmoid(x) = (1 + tanh(x / 2)) / 2; the halves stand in the weights, see _layer
            squashed = np.tanh(gate + last @ self.from_hidden)
            enter, forget, candidate, leave = np.split(squashed, 4, axis=1)
            cell = 0.5 * ((forget + 1.0) * cell + (enter + 1.0) * candidate)
            last = hidden[step]
            np.multiply(0.5 * (leave + 1.0), np.tanh(cell), out=last)
        return hidden


class Ge2eEncoder:
    """The network, from the arrays of a checkpoint."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        """Take the state dictionary of ``VoiceEncoder``. Raises KeyError where an array is missing."""
        self._layers = [_layer(weights, index) for index in range(LAYERS)]
        self._linear = np.ascontiguousarray(weights["linear.weight"].T)
        self._bias = weights["linear.bias"]

    def embed(self, samples: Samples) -> Array:
        """Embed a clip that is prepared (see :mod:`voice_trimming`): shape ``(256,)``, length 1, no number below 0.

        One clip at a time: in which order a matrix product adds up depends on its shape, so that in a common one the
        last digit of a clip would depend on those beside it. Raises PredictionFailed where no cell fires.
        """
        mels = partial_utterances(samples)
        embedded = [self.embed_partials(mels[start : start + BLOCK]) for start in range(0, len(mels), BLOCK)]
        mean = np.concatenate(embedded).mean(axis=0, dtype=np.float64)
        length = np.linalg.norm(mean)
        if not length > 0:
            raise PredictionFailed("the speaker encoder answers with zeros: no speaker can be told")
        return np.asarray(mean / length, np.float32)

    def embed_partials(self, mels: Array) -> Array:
        """Embed partial utterances, ``(partials, 160, 40)`` to ``(partials, 256)`` of length 1 or 0 (no cell fired)."""
        hidden = np.ascontiguousarray(mels.transpose(1, 0, 2))
        for layer in self._layers:
            hidden = layer(hidden)
        # The package has a ReLU behind its linear layer.
        fired = np.maximum(hidden[-1] @ self._linear + self._bias, 0.0)
        length = np.linalg.norm(fired, axis=1, keepdims=True)
        directions: Array = np.divide(fired, length, out=np.zeros_like(fired), where=length > 0)
        return directions


def _layer(weights: Mapping[str, Array], index: int) -> _Layer:
    """Gather one layer; rows of sigmoid gates are halved, which costs no digit (see _Layer)."""
    bias: Any = weights[f"lstm.bias_ih_l{index}"] + weights[f"lstm.bias_hh_l{index}"]
    # The order of gates in torch's LSTM: input, forget, cell, output; the cell's is a tanh already.
    half = np.repeat(np.array([0.5, 0.5, 1.0, 0.5], np.float32), bias.size // 4)
    return _Layer(
        np.ascontiguousarray((weights[f"lstm.weight_ih_l{index}"] * half[:, None]).T),
        np.ascontiguousarray((weights[f"lstm.weight_hh_l{index}"] * half[:, None]).T),
        bias * half,
    )
