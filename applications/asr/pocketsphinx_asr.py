"""Recogniser without a neural network: PocketSphinx with the US English models of its package.

Its errors are of another kind than a neural recogniser's, which substitutes fluent sentences. On the five LibriVox
clips of `mini` it makes 27 % word errors where Whisper tiny.en makes 4 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pocketsphinx

from codec_superb.applications.asr.segmenting import LONGEST_S, SHORTEST_S, segments
from codec_superb.applications.asr.whisper_decoding import check_english, joined
from codec_superb.applications.errors import MissingModel, UnknownApplication
from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Sound
from codec_superb.applications.model_files import sha256_of
from codec_superb.applications.one_by_one import one_by_one

NAME, MODEL = "pocketsphinx", "en-us"
LANGUAGE_MODEL, DICTIONARY = "en-us.lm.bin", "cmudict-en-us.dict"
ACOUSTIC = ("feat.params", "mdef", "means", "noisedict", "sendump", "transition_matrices", "variances")
"""Files of the folder ``en-us`` of acoustic models."""


class PocketSphinx(Backend):
    """PocketSphinx with its defaults; ``--weights`` names a folder laid out as ``model/en-us`` of its package."""

    one_copy_per_worker = True

    def prepare(self) -> Model:
        """Find the models in the package, or in the folder of ``--weights``."""
        if self.variant not in {"", MODEL}:
            raise UnknownApplication(self.variant, [MODEL], f"model of {NAME}")
        folder = self.weights or Path(pocketsphinx.get_model_path(MODEL))
        files = [folder / LANGUAGE_MODEL, folder / DICTIONARY, *(folder / MODEL / name for name in ACOUSTIC)]
        if absent := [str(file) for file in files if not file.is_file()]:
            raise MissingModel(
                f"{NAME}: no file {' and no file '.join(absent)}; "
                f"its package carries them: pip install --force-reinstall pocketsphinx=={version('pocketsphinx')}"
            )
        return Model(
            name=f"{NAME}:{MODEL}" if self.weights is None else f"{NAME}:local:{folder.resolve().name}",
            sha256=sha256_of(files),
            settings={
                "decoding": "default", "version": version("pocketsphinx"), "front_end": "new for each part",
                "segment_shortest_s": SHORTEST_S, "segment_longest_s": LONGEST_S, "language": "en",
            },
            path=folder,
        )  # fmt: skip

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- it runs on one thread of a CPU
        """Load acoustic model, language model and dictionary."""
        assert model.path is not None
        self._name = model.name
        self._decoder = pocketsphinx.Decoder(
            hmm=str(model.path / MODEL), lm=str(model.path / LANGUAGE_MODEL), dict=str(model.path / DICTIONARY),
            samprate=self.rate, loglevel="FATAL",
        )  # fmt: skip

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Transcribe each sound by itself."""
        return one_by_one(self._transcribe, batch)

    def close(self) -> None:
        """Unload the models."""
        del self._decoder

    def _transcribe(self, sound: Sound) -> str:
        check_english(sound.item, self._name)
        return joined([self._transcribe_part(part) for part in segments(sound.samples, self.rate)])

    def _transcribe_part(self, part: Samples) -> str:
        hear(self._decoder, pcm_of(part))
        said = self._decoder.hyp()
        return "" if said is None else str(said.hypstr)


def pcm_of(samples: Samples) -> bytes:
    """Write samples (shape ``(samples,)``, full scale 1) as 16-bit PCM, little-endian."""
    return bytes(np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2").tobytes())


def hear(decoder: Any, pcm: bytes) -> None:
    """Take a whole utterance of 16-bit PCM, by itself: what was heard before changes nothing."""
    # pocketsphinx 5.1.1 keeps state of its front end: one transcript in fourteen was another one behind other sounds
    decoder.reinit_feat()
    decoder.start_utt()
    decoder.process_raw(pcm, full_utt=True)
    decoder.end_utt()
