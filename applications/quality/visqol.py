"""ViSQOL 3: similarity of gammatone spectrograms of reference and resynthesis, mapped to a mean opinion score.

Speech is compared in speech mode at 16 kHz, audio and music in audio mode at 48 kHz, by the package visqol-python, a
port of the publisher's program. Audio mode maps similarity to opinion by a support vector regression. Speech mode has
two mappings: the exponential fit (here the default: it needs nothing more, and gives a clip with itself 5.0), and the
deep lattice network that the publisher's program took up later (``visqol:lattice``, needs the package ai-edge-litert).
Their scores are not comparable, so the model is named by the mapping and never chosen by what happens to be installed.

Paper: Chinen et al., ViSQOL v3: An Open Source Production Ready Objective Speech and Audio Metric, QoMEX 2020.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import soxr

from codec_superb.applications.errors import ApplicationError, MissingPackage, PredictionFailed
from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Sound
from codec_superb.applications.model_files import sha256_of
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.packages import require_packages
from codec_superb.missing_package import not_installed

SPEECH_RATE = 16_000
AUDIO_RATE = 48_000
PACKAGE = "visqol-python"
LATTICE_PACKAGE = "ai-edge-litert==2.1.5"

AUDIO_MODEL = "libsvm_nu_svr_model.txt"
LATTICE_MODEL = "lattice_tcditugenmeetpackhref_ls2_nl60_lr12_bs2048_learn.005_ep2400_train1_7_raw.tflite"
EXPONENTIAL, LATTICE = "exponential", "lattice"


class VisQol(Backend):
    """Answers float32 ``[mos]``, 1 to 5, higher is better; ``visqol`` or ``visqol:exponential``, ``visqol:lattice``."""

    rate: ClassVar[int] = AUDIO_RATE
    needs_reference: ClassVar[bool] = True
    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Name the package's model files. Raises MissingPackage, and ApplicationError for another variant."""
        mapping = self.variant or EXPONENTIAL
        if mapping not in {EXPONENTIAL, LATTICE}:
            raise ApplicationError(f"visqol: expected {EXPONENTIAL} or {LATTICE} behind the colon, got {mapping!r}")
        require_packages("visqol", "applications", "visqol", "libsvm")
        if mapping == LATTICE and importlib.util.find_spec("ai_edge_litert") is None:
            raise MissingPackage(not_installed("visqol:lattice", "ai_edge_litert", LATTICE_PACKAGE))
        spec = importlib.util.find_spec("visqol")
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent / "model"
        used = [AUDIO_MODEL] + [LATTICE_MODEL] * (mapping == LATTICE)
        return Model(
            name=f"visqol:{mapping}",
            sha256=sha256_of(folder / name for name in used),
            settings={"package": f"{PACKAGE} {version(PACKAGE)}", "speech": mapping, "models": ", ".join(used)},
            path=folder,
        )

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- it computes on the CPU
        """Set up both modes on the CPU, whatever the device."""
        import numba
        from visqol.api import VisqolApi

        assert model.path is not None
        numba.set_num_threads(max(1, min(threads, numba.get_num_threads())))
        self._speech, self._audio = VisqolApi(), VisqolApi()
        lattice = model.settings["speech"] == LATTICE
        self._speech.create(mode="speech", use_lattice_model=lattice)
        self._audio.create(mode="audio", model_path=str(model.path / AUDIO_MODEL))

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Compare each sound with its reference; silence and clips of less than half a second are PredictionFailed."""
        return one_by_one(self._opinion, batch)

    def _opinion(self, sound: Sound) -> Prediction:
        if sound.reference is None:
            raise PredictionFailed("visqol compares: expected the reference beside the sound, got none")
        if not (sound.reference.any() and sound.samples.any()):
            raise PredictionFailed("visqol has no score where reference or resynthesis is silent")
        speech = sound.item.category == "speech"
        rate = SPEECH_RATE if speech else AUDIO_RATE
        pair = [_at(rate, samples) for samples in (sound.reference, sound.samples)]
        mode: Any = self._speech if speech else self._audio
        try:
            with np.errstate(all="ignore"):
                mos = float(mode.measure_from_arrays(*pair, rate).moslqo)
        except (ValueError, IndexError, ZeroDivisionError) as error:
            seconds = sound.samples.size / AUDIO_RATE
            raise PredictionFailed(f"visqol cannot compare this clip of {seconds:.2f} s: {error}") from error
        if not np.isfinite(mos):
            raise PredictionFailed(f"visqol gave {mos} instead of a score")
        return np.array([mos], np.float32)


def _at(rate: int, samples: Samples) -> Any:
    """Return samples at 48 kHz at ``rate``, in double precision."""
    resampled = samples if rate == AUDIO_RATE else soxr.resample(samples, AUDIO_RATE, rate, quality="VHQ")
    return np.asarray(resampled, dtype=np.float64)
