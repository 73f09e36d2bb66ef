"""DNSMOS: opinions after ITU-T P.835 (overall, signal, background) and P.808, predicted without a reference.

The procedure is that of the publisher's script and of the package speechmos 0.0.1.1: the clip is doubled until it
lasts 9.01 s; windows of 9.01 s start every second; each window's raw P.835 scores go through a published polynomial of
degree two; P.808 is predicted from 120 mel bands in decibels; the scores of a clip are the means over its windows. The
models run on ONNX Runtime on the CPU, one window at a time, so that no answer depends on its neighbours.

Papers: Reddy, Gopal and Cutler, DNSMOS P.835, ICASSP 2022; DNSMOS, ICASSP 2021.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Sound
from codec_superb.applications.model_files import embedded_model_folder, folder_with, refuse_variant, sha256_of
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.quality.mel_spectrum import MelSpectrum, decibels

RATE = 16_000
# 144,160 samples: the fixed input of the P.835 model
SECONDS = 9.01
WINDOW = int(SECONDS * RATE)
P835, P808 = "sig_bak_ovr.onnx", "model_v8.onnx"

# Polynomials of the publisher's dnsmos_local.py.
_SIGNAL = (-0.08397278, 1.22083953, 0.0052439)
_BACKGROUND = (-0.13166888, 1.60915514, -0.39604546)
_OVERALL = (-0.06766283, 1.11546468, 0.04602535)
"""From raw scores to opinions, highest power first, as the publisher fitted them."""

_MEL = MelSpectrum(rate=RATE, transform=321, window=321, hop=160, bands=120, highest=RATE / 2.0)
_P808_TAIL = 160
"""Samples at the end of a window that the P.808 model is not given."""


class DnsMos(Backend):
    """Answers float32 ``[overall, signal, background, p808]``, each about 1 to 5, higher is better."""

    rate: ClassVar[int] = RATE
    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Find both models: in the folder of ``--weights``, else in the package file. Raises MissingModel."""
        refuse_variant("dnsmos", self.variant)
        if self.weights is None:
            folder = embedded_model_folder("dnsmos")
        else:
            source = "take them out of the package speechmos 0.0.1.1 (speechmos/dnsmos_models), or leave --weights out"
            folder = folder_with("dnsmos", self.weights, [P835, P808], source)
        return Model(
            name="dnsmos",
            sha256=sha256_of([folder / P835, folder / P808]),
            settings={"window_s": SECONDS, "hop_s": 1, "short_clips": "doubled"},
            path=folder,
        )

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- the CPU is fast enough
        """Open both models for the CPU, whatever the device."""
        assert model.path is not None
        self._p835 = _session(model.path / P835, threads)
        self._p808 = _session(model.path / P808, threads)

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Answer for each sound; one without samples is a PredictionFailed."""
        return one_by_one(lambda sound: self._opinions(sound.samples), batch)

    def _opinions(self, samples: Samples) -> Prediction:
        opinions = np.mean([self._window(window) for window in windows(samples)], axis=0)
        return np.asarray(opinions, dtype=np.float32)

    def _window(self, window: Samples) -> NDArray[np.float64]:
        signal, background, overall = self._p835.run(None, {"input_1": window[None]})[0][0].astype(np.float64)
        # The script leaves the last 160 samples out for P.808.
        levels = mel_features(window[:-_P808_TAIL])
        p808 = float(self._p808.run(None, {"input_1": levels[None]})[0][0][0])
        fitted = (np.polyval(_OVERALL, overall), np.polyval(_SIGNAL, signal), np.polyval(_BACKGROUND, background))
        return np.array([*fitted, p808])


def windows(samples: Samples) -> Iterator[Samples]:
    """Yield windows of 9.01 s, one a second, of the clip doubled until it is long enough.

    The borders are computed as the publisher's script does, in floating point: where the end falls one sample short
    (windows 7 to 23, 119, …) x
    """
    sound = np.asarray(samples, dtype=np.float32)
    while sound.size < WINDOW:
        sound = np.concatenate([sound, sound])
    for start in range(int(sound.size // RATE - SECONDS) + 1):
        window = sound[start * RATE : int((start + SECONDS) * RATE)]
        if window.size == WINDOW:
            yield np.ascontiguousarray(window)


def mel_features(window: Samples) -> Samples:
    """Return the input of the P.808 model: decibels below the loudest band, plus 40, over 40; ``(frames, 120)``."""
    power = _MEL.powers(window)
    return np.ascontiguousarray(((decibels(power, float(power.max())) + 40.0) / 40.0).T, dtype=np.float32)


def _session(path: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other workers use the other cores
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
