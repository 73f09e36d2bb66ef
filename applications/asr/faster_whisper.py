"""Whisper on CTranslate2, through faster-whisper's tokenizer and features; runs without torch.

``tiny.en`` comes from a package file, other sizes from the repositories on the hub that faster-whisper itself names, or
from a folder. Weights are computed with in float32 whatever precision they are stored in: stored as float16, as the
published ones are, they keep their exact values, while int8 changes words on some clips (it was 1.2 times as
fast on two cores). Sounds are transcribed one by one: on a CPU a batch was no faster, and so no transcript can
depend on it. Transcripts of weights from the hub have not been compared with published ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2
import numpy as np
import tokenizers
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import Tokenizer
from faster_whisper.transcribe import get_suppressed_tokens
from numpy.typing import NDArray

from codec_superb.applications.asr import whisper_decoding
from codec_superb.applications.asr.checkpoints import is_marked_random, is_path_or_repository
from codec_superb.applications.asr.segmenting import segments
from codec_superb.applications.errors import ApplicationError, MissingModel, UnknownApplication
from codec_superb.applications.interface import Backend, Item, Model, Prediction, Samples, Sound
from codec_superb.applications.memory import is_out_of_memory, raises_out_of_memory
from codec_superb.applications.model_files import FoundModel, embedded_model_folder, find_model, sha256_of
from codec_superb.applications.one_by_one import one_by_one

NAME = "faster-whisper"
EMBEDDED = "tiny.en"
COMPUTE_TYPE = "float32"
FILES = ("config.json", "tokenizer.json", "model.bin")
VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
"""A checkpoint has one of these, by the version of the converter."""

REPOSITORIES = {
    **{
        size: f"Systran/faster-whisper-{size}"
        for size in (
            "tiny.en", "tiny", "base.en", "base", "small.en", "small", "medium.en", "medium",
            "large-v1", "large-v2", "large-v3",
        )
    },
    **{
        f"distil-{size}": f"Systran/faster-distil-whisper-{size}"
        for size in ("small.en", "medium.en", "large-v2", "large-v3")
    },
    "large": "Systran/faster-whisper-large-v3",
    "distil-large-v3.5": "distil-whisper/distil-large-v3.5-ct2",
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
}  # fmt: skip
"""Sizes by name, as faster-whisper 1.2.1 has them; a test compares the two."""


class Decoded(NamedTuple):
    """One part of a sound, decoded."""

    encoded: Any
    """Output of the encoder."""
    tokenizer: Tokenizer
    """With the prompt that was used."""
    tokens: list[int]


class FasterWhisper(Backend):
    """A Whisper checkpoint in the format of CTranslate2."""

    one_copy_per_worker = True

    def prepare(self) -> Model:
        """Find the checkpoint: the embedded one, a folder, or a repository of the hub."""
        folder, source = self._find()
        vocabulary = next(name for name in VOCABULARIES if (folder / name).is_file())
        return Model(
            name=f"{NAME}:{source}",
            sha256=sha256_of([folder / name for name in (*FILES, vocabulary)]),
            settings=whisper_decoding.SETTINGS | {"precision": COMPUTE_TYPE},
            path=folder,
            random=is_marked_random(folder),
        )

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the checkpoint; on a CPU with ``threads`` threads."""
        assert model.path is not None
        self._name = model.name
        with raises_out_of_memory(model.name):
            try:
                self._model = ctranslate2.models.Whisper(
                    str(model.path), device=device, compute_type=COMPUTE_TYPE, intra_threads=threads, inter_threads=1
                )
            except (RuntimeError, ValueError) as error:
                if is_out_of_memory(error):
                    raise
                raise ApplicationError(
                    f"{model.name}: expected a Whisper checkpoint for CTranslate2 that runs on {device}: {error}"
                ) from error
        self._features = FeatureExtractor(feature_size=self._model.n_mels)
        self._tokens = tokenizers.Tokenizer.from_file(str(model.path / "tokenizer.json"))
        english = Tokenizer(self._tokens, multilingual=False)
        # -1 stands for the tokens that openai-whisper suppresses by default: what is not speech.
        self._suppressed = list(get_suppressed_tokens(english, [-1]))

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Transcribe each sound by itself."""
        return one_by_one(self._transcribe, batch)

    def close(self) -> None:
        """Unload the model."""
        del self._model

    def _transcribe(self, sound: Sound) -> str:
        parts = segments(sound.samples, self.rate)
        return whisper_decoding.joined([self._transcribe_part(part, sound.item) for part in parts])

    def _transcribe_part(self, part: Samples, item: Item) -> str:
        decoded = self._decoded(part, item)
        text: str = decoded.tokenizer.decode(decoded.tokens)
        return text

    def _decoded(self, part: Samples, item: Item) -> Decoded:
        """Decode one part of a sound."""
        # Whisper was trained on windows of exactly 30 s (Radford et al. 2022).
        padded = np.zeros(whisper_decoding.WINDOW, np.float32)
        padded[: part.size] = part
        encoded = self._encoded(padded)
        tokenizer = self._tokenizer(encoded, item)
        prompt = [*tokenizer.sot_sequence, tokenizer.no_timestamps]
        (result,) = self._model.generate(
            encoded,
            [prompt],
            beam_size=1,
            sampling_topk=1,
            max_length=2 * whisper_decoding.MOST_TOKENS,  # CTranslate2 keeps half of it for a prompt
            suppress_blank=True,
            suppress_tokens=self._suppressed,
        )
        return Decoded(encoded, tokenizer, result.sequences_ids[0])

    def encode(self, samples: Samples) -> NDArray[np.float32]:
        """Return what the encoder makes of samples as they are, ``(frames, dimensions)``; the model is loaded."""
        view = self._encoded(samples)
        # from a graphics card it goes through the memory of the host
        here = view.to_device(ctranslate2.Device.cpu) if view.device != "cpu" else view
        encoded: NDArray[np.float32] = np.array(here, np.float32)[0]
        return encoded

    def _encoded(self, samples: Samples) -> Any:
        features = np.ascontiguousarray(self._features(samples, padding=0)[None])
        return self._model.encode(ctranslate2.StorageView.from_array(features))

    def _tokenizer(self, encoded: Any, item: Item) -> Tokenizer:
        """Return the tokenizer with the prompt for the clip's language."""
        if not self._model.is_multilingual:
            whisper_decoding.check_english(item, self._name)
            return Tokenizer(self._tokens, multilingual=False)
        language = whisper_decoding.whisper_language(item)
        if language is None:
            # The most probable language comes first, as its token <|xx|>.
            language = self._model.detect_language(encoded)[0][0][0].strip("<|>")
        if self._tokens.token_to_id(f"<|{language}|>") is None:
            raise whisper_decoding.unknown_language(item, self._name)
        return Tokenizer(self._tokens, multilingual=True, task="transcribe", language=language)

    def _find(self) -> tuple[Path, str]:
        """Return the folder of the checkpoint, and what results call it."""
        if self.weights is None and self.variant in {"", EMBEDDED}:
            return embedded_model_folder("whisper-tiny.en"), EMBEDDED
        given = self.weights
        if given is None and is_path_or_repository(self.variant):
            given = Path(self.variant)
        size = self.variant or EMBEDDED
        if given is None and size not in REPOSITORIES:
            raise UnknownApplication(size, REPOSITORIES, f"size of {NAME}, and no such folder,")
        found = _checkpoint(REPOSITORIES.get(size, REPOSITORIES["large-v3"]), given)
        return found.folder, size if given is None else found.source


def _checkpoint(repository: str, given: Path | None) -> FoundModel:
    """Find a checkpoint with either kind of vocabulary, which is asked for first as it is small."""
    older = repository.startswith("Systran/faster-whisper-") and not repository.endswith("-v3")
    first: MissingModel | None = None
    for vocabulary in sorted(VOCABULARIES, reverse=older):
        try:
            return find_model(NAME, repository, (vocabulary, *FILES), given=given, extra="probes")
        except MissingModel as error:
            first = first or error
    assert first is not None
    raise first
