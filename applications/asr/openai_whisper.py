"""The original Whisper on PyTorch, any size or a local checkpoint, in float32 and one sound at a time.

It decodes as the CTranslate2 backend does, so that both give the same transcripts from the same weights; the default
is large-v3, in the paper of the benchmark and in UltraEval-Audio. Of the published
weights, only those of tiny.en, converted, have been run in this project.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import whisper

from codec_superb.applications.asr import whisper_decoding
from codec_superb.applications.asr.openai_checkpoints import find_checkpoint
from codec_superb.applications.asr.segmenting import segments
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Backend, Item, Model, Prediction, Samples, Sound
from codec_superb.applications.memory import is_out_of_memory, raises_out_of_memory
from codec_superb.applications.model_files import sha256_of
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.torch_setup import set_up_torch

NAME = "openai-whisper"


class OpenAIWhisper(Backend):
    """A checkpoint of openai-whisper."""

    def prepare(self) -> Model:
        """Find or fetch the checkpoint."""
        found = find_checkpoint(self.variant, self.weights)
        return Model(
            name=f"{NAME}:{found.source}",
            sha256=sha256_of([found.file]),
            settings=whisper_decoding.SETTINGS | {"precision": "float32"},
            path=found.file,
        )

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the checkpoint in float32; on a CPU with ``threads`` threads."""
        set_up_torch(threads)
        self._name, self._device = model.name, device
        with raises_out_of_memory(model.name):
            try:
                # The published checkpoints are stored in float16.
                self._model = whisper.load_model(str(model.path), device=device).float().eval()
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                raise ApplicationError(
                    f"{model.name}: expected a checkpoint of openai-whisper (.pt) that runs on {device}: {error}"
                ) from error

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Transcribe each sound by itself."""
        return one_by_one(self._transcribe, batch)

    def close(self) -> None:
        """Unload the model."""
        del self._model

    def _transcribe(self, sound: Sound) -> str:
        options = whisper.DecodingOptions(
            task="transcribe", language=self._language(sound.item), temperature=0.0,
            sample_len=whisper_decoding.MOST_TOKENS, without_timestamps=True, suppress_tokens="-1",
            suppress_blank=True, fp16=False,
        )  # fmt: skip
        parts = segments(sound.samples, self.rate)
        return whisper_decoding.joined([self._transcribe_part(part, options) for part in parts])

    def _transcribe_part(self, part: Samples, options: whisper.DecodingOptions) -> str:
        padded = whisper.pad_or_trim(torch.from_numpy(part.copy()), whisper_decoding.WINDOW).to(self._device)
        features = whisper.log_mel_spectrogram(padded, n_mels=self._model.dims.n_mels)
        text: str = whisper.decode(self._model, features, options).text
        return text

    def _language(self, item: Item) -> str | None:
        """Return the language option of the decoder; None lets a multilingual model detect it."""
        if not self._model.is_multilingual:
            whisper_decoding.check_english(item, self._name)
            return "en"
        language = whisper_decoding.whisper_language(item)
        known = list(whisper.tokenizer.LANGUAGES)[: self._model.num_languages]
        if language is not None and language not in known:
            raise whisper_decoding.unknown_language(item, self._name)
        return language
