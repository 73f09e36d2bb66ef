"""Recognisers of transformers: Whisper checkpoints, and wav2vec 2.0 with a head for CTC.

The default is openai/whisper-large-v3. Both decode greedily in float32; long sounds are divided as for the other
backends. Run in this project: the weights of Whisper tiny.en, converted, and tiny checkpoints with random
weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from codec_superb.applications.asr import whisper_decoding
from codec_superb.applications.asr.segmenting import LONGEST_S, SHORTEST_S, segments
from codec_superb.applications.errors import ApplicationError, MissingModel, OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Backend, Item, Model, Prediction, Samples, Setting, Sound
from codec_superb.applications.memory import raises_out_of_memory
from codec_superb.applications.model_files import find_model
from codec_superb.applications.transformers_checkpoint import (
    CONFIG,
    PREPROCESSOR,
    TransformersCheckpoint,
    find_checkpoint,
    import_transformers,
    read_json,
)

NAME = "transformers-asr"
REPOSITORY = "openai/whisper-large-v3"
_COMMON = (PREPROCESSOR, "tokenizer_config.json")
FILES = {
    "whisper": (*_COMMON, "generation_config.json", "tokenizer.json"),
    "wav2vec2": (*_COMMON, "vocab.json"),
}
"""By ``model_type`` of the configuration: what a checkpoint needs beside that and its weights."""
_ALWAYS: dict[str, Setting] = {"precision": "float32", "segment_shortest_s": SHORTEST_S, "segment_longest_s": LONGEST_S}
SETTINGS: dict[str, dict[str, Setting]] = {
    "whisper": whisper_decoding.SETTINGS | {"suppressed": "as the checkpoint's generation_config says"} | _ALWAYS,
    "wav2vec2": _ALWAYS | {"decoding": "greedy CTC", "language_model": False, "language": "of the checkpoint"},
}


class Recogniser(Protocol):
    """One kind of model, loaded."""

    def check(self, item: Item) -> None:
        """Raise PredictionFailed for a clip whose language the model does not know."""

    def transcribe(self, parts: Sequence[Samples], items: Sequence[Item]) -> list[str]:
        """Return the text of each part, of 30 s at most; ``items`` are their clips."""


class TransformersASR(Backend):
    """A checkpoint of Whisper or wav2vec 2.0.

    ``transformers-asr:OWNER/NAME[@REVISION]``, ``transformers-asr:DIR`` or ``--weights DIR`` names another one.
    """

    def prepare(self) -> Model:
        """Find or fetch configuration, tokenizer and weights."""
        found, kind = self._find()
        return Model(f"{NAME}:{found.source}", found.sha256, SETTINGS[kind], found.folder, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the checkpoint in float32.

        Raises MissingModel for one that is not whole, ApplicationError for one of another sampling rate.
        """
        assert model.path is not None
        import_transformers()
        from codec_superb.applications.torch_setup import set_up_torch

        set_up_torch(threads)
        with raises_out_of_memory(model.name):
            self._recogniser = _load(_kind(model.path), model, device, threads)

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Transcribe all sounds together; where that fails, each by itself. Raises OutOfMemory."""
        answers: dict[int, Prediction | Exception] = {}
        for position, sound in enumerate(batch):
            try:
                self._check(sound)
            except PredictionFailed as error:
                answers[position] = error
        rest = [position for position in range(len(batch)) if position not in answers]
        answers |= zip(rest, self._transcribed([batch[position] for position in rest]), strict=True)
        return [answers[position] for position in range(len(batch))]

    def close(self) -> None:
        """Release the model."""
        del self._recogniser

    def _check(self, sound: Sound) -> None:
        if not sound.samples.size:
            raise PredictionFailed(f"{sound.item.clip}: expected sound, got no samples")
        self._recogniser.check(sound.item)

    def _transcribed(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        parts = [(place, part) for place, sound in enumerate(batch) for part in segments(sound.samples, self.rate)]
        items = [batch[place].item for place, _ in parts]
        try:
            with raises_out_of_memory(f"a batch of {len(batch)} sounds"):
                texts = self._recogniser.transcribe([part for _, part in parts], items) if parts else []
        except OutOfMemory:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever a model raises costs the sound alone that it is raised for
            return [error] if len(batch) == 1 else [self._transcribed([sound])[0] for sound in batch]
        said: list[list[str]] = [[] for _ in batch]
        for (place, _), text in zip(parts, texts, strict=True):
            said[place].append(text)
        return [whisper_decoding.joined(one) for one in said]

    def _find(self) -> tuple[TransformersCheckpoint, str]:
        """Find the checkpoint and return its kind."""
        given = self.weights if self.weights is not None else self.variant or None
        try:
            folder = find_model(NAME, REPOSITORY, (CONFIG,), given=given).folder
        except MissingModel:
            kind = "wav2vec2" if "wav2vec2" in str(given) else "whisper"  # for the list of files in the error
        else:
            kind = _kind(folder)
        if kind not in FILES:
            raise ApplicationError(f"{NAME}: expected a checkpoint of {' or '.join(FILES)}, got one of {kind}")
        return find_checkpoint(NAME, REPOSITORY, FILES[kind], given), kind


def _kind(folder: Path) -> str:
    return str(read_json(folder / CONFIG).get("model_type"))


def _load(kind: str, model: Model, device: str, threads: int) -> Recogniser:
    if kind == "whisper":
        from codec_superb.applications.asr.transformers_whisper import WhisperRecogniser

        return WhisperRecogniser(model, device, threads)
    from codec_superb.applications.asr.transformers_ctc import CtcRecogniser

    return CtcRecogniser(model, device, threads)
