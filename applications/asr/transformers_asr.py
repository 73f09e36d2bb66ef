"""Recognisers of transformers: Whisper checkpoints, and wav2vec 2.0 with a head for CTC.

The default is openai/whisper-large-v3. Both decode greedily in float32; long sounds are divided as for the other
backends. Checkpoints of the hub could not be had where this was written: what ran here are the weights of Whisper
tiny.en, converted, and tiny checkpoints with random weights.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any, Protocol

from codec_superb.applications.asr import whisper_decoding
from codec_superb.applications.asr.checkpoints import read_config, says_random
from codec_superb.applications.asr.segmenting import LONGEST_S, SHORTEST_S, segments
from codec_superb.applications.asr.torch_setup import set_up_torch
from codec_superb.applications.errors import ApplicationError, MissingModel, OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Backend, Item, Model, Prediction, Samples, Setting, Sound
from codec_superb.applications.memory import is_out_of_memory, memory_watched
from codec_superb.applications.model_files import FoundModel, find_model, sha256_of
from codec_superb.applications.torchaudio_import import import_torchaudio

NAME = "transformers-asr"
REPOSITORY = "openai/whisper-large-v3"
_COMMON = ("config.json", "preprocessor_config.json", "tokenizer_config.json")
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Either will do; older repositories have only the second."""
FILES = {
    "whisper": (*_COMMON, "generation_config.json", "tokenizer.json"),
    "wav2vec2": (*_COMMON, "vocab.json"),
}
"""By ``model_type`` of the configuration: what a checkpoint needs beside its weights."""
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
        found, weights, kind = self._find()
        name = f"{found.source}@{found.revision}" if found.revision and "@" in self.variant else found.source
        return Model(
            name=f"{NAME}:{name}",
            sha256=sha256_of(found.folder / file for file in (*FILES[kind], weights)),
            settings=SETTINGS[kind],
            path=found.folder,
            random=says_random(found.folder),
        )

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the checkpoint in float32. Raises ApplicationError for one that is not whole, or of another rate."""
        assert model.path is not None
        if importlib.util.find_spec("torchaudio"):
            import_torchaudio()  # transformers imports it where it is installed
        set_up_torch(threads)
        kind = str(read_config(model.path).get("model_type"))
        with memory_watched(model.name):
            try:
                self._recogniser = _load(kind, model, device)
            except Exception as error:
                if is_out_of_memory(error) or isinstance(error, ApplicationError):
                    raise
                raise ApplicationError(
                    f"{model.name}: expected a checkpoint of {kind} that runs on {device}: {error}"
                ) from error

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
        """Give the model back."""
        del self._recogniser

    def _check(self, sound: Sound) -> None:
        if not sound.samples.size:
            raise PredictionFailed(f"{sound.item.clip}: expected sound, got no samples")
        self._recogniser.check(sound.item)

    def _transcribed(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        parts = [(place, part) for place, sound in enumerate(batch) for part in segments(sound.samples, self.rate)]
        items = [batch[place].item for place, _ in parts]
        try:
            with memory_watched(f"a batch of {len(batch)} sounds"):
                texts = self._recogniser.transcribe([part for _, part in parts], items) if parts else []
        except OutOfMemory:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever a model raises costs the sound alone that it is raised for
            return [error] if len(batch) == 1 else [self._transcribed([sound])[0] for sound in batch]
        said: list[list[str]] = [[] for _ in batch]
        for (place, _), text in zip(parts, texts, strict=True):
            said[place].append(text)
        return [whisper_decoding.joined(one) for one in said]

    def _find(self) -> tuple[FoundModel, str, str]:
        """Find the checkpoint, the name of its file of weights, and its kind."""
        given = self.weights if self.weights is not None else self.variant or None
        try:
            folder = find_model(NAME, REPOSITORY, ("config.json",), given=given).folder
        except MissingModel:
            kind = "wav2vec2" if "wav2vec2" in str(given) else "whisper"  # for the list in the error
        else:
            kind = str(read_config(folder).get("model_type"))
        if kind not in FILES:
            raise ApplicationError(f"{NAME}: expected a checkpoint of {' or '.join(FILES)}, got one of {kind}")
        first: MissingModel | None = None
        for weights in WEIGHTS:
            try:
                return find_model(NAME, REPOSITORY, (*FILES[kind], weights), given=given), weights, kind
            except MissingModel as error:
                first = first or error
        assert first is not None
        raise first


def _load(kind: str, model: Model, device: str) -> Recogniser:
    if kind == "whisper":
        from codec_superb.applications.asr.transformers_whisper import WhisperRecogniser

        return WhisperRecogniser(model, device)
    from codec_superb.applications.asr.transformers_ctc import CtcRecogniser

    return CtcRecogniser(model, device)


def pretrained(model_class: Any, model: Model, device: str) -> Any:
    """Load a model of transformers from ``model.path`` in float32. Raises MissingModel where tensors are missing."""
    import torch

    loaded, report = model_class.from_pretrained(
        model.path, local_files_only=True, dtype=torch.float32, output_loading_info=True
    )
    # What only training needs may be missing.
    if absent := sorted(name for name in report["missing_keys"] if not name.endswith("masked_spec_embed")):
        raise MissingModel(
            f"{model.name} is no checkpoint of {model_class.__name__}: it lacks {', '.join(absent[:5])}"
            f"{' and more' if len(absent) > 5 else ''}; name one that has them"  # noqa: PLR2004 -- a line's worth
        )
    return loaded.to(device).eval()


def check_rate(model: Model, extractor: Any) -> None:
    """Raise ApplicationError for a model of another sampling rate than recognisers are given."""
    if extractor.sampling_rate != TransformersASR.rate:
        raise ApplicationError(
            f"{model.name}: expected a model of {TransformersASR.rate} Hz, got one of {extractor.sampling_rate} Hz"
        )
