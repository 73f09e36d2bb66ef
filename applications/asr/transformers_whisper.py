"""Whisper through transformers: greedy, without timestamps, without a second attempt at another temperature.

Suppressed tokens are those of the checkpoint's ``generation_config.json``; in the published ones they are those of the
original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, WhisperFeatureExtractor

from codec_superb.applications.asr import whisper_decoding
from codec_superb.applications.asr.checkpoints import check_rate
from codec_superb.applications.interface import Item, Model, Samples
from codec_superb.applications.transformers_checkpoint import load_network

# The English-only checkpoints have 51,864 tokens.
_MULTILINGUAL_VOCABULARY = 51_865
"""Whisper's vocabularies of English alone are smaller."""


class WhisperRecogniser:
    """A Whisper model; every part is padded to 30 s, so that a batch needs no mask."""

    def __init__(self, model: Model, device: str, threads: int) -> None:
        assert model.path is not None
        extractor: Any = WhisperFeatureExtractor
        self._name, self._device = model.name, device
        self._features = extractor.from_pretrained(model.path, local_files_only=True)
        check_rate(model, self._features)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(model.path, local_files_only=True)
        self._model = load_network("WhisperForConditionalGeneration", model.path, device, threads)
        config = self._model.generation_config
        config.max_length = whisper_decoding.MOST_TOKENS  # transformers adds the prompt to it
        large = self._model.config.vocab_size >= _MULTILINGUAL_VOCABULARY
        self._multilingual = bool(getattr(config, "is_multilingual", large))

    def check(self, item: Item) -> None:
        """Raise PredictionFailed for a clip whose language the model does not know."""
        if not self._multilingual:
            whisper_decoding.check_english(item, self._name)
            return
        language = whisper_decoding.whisper_language(item)
        if language is not None and f"<|{language}|>" not in self._model.generation_config.lang_to_id:
            raise whisper_decoding.unknown_language(item, self._name)

    def transcribe(self, parts: Sequence[Samples], items: Sequence[Item]) -> list[str]:
        """Return the text of each part; parts in one language go together."""
        texts: dict[int, str] = {}
        groups: dict[str | None, list[int]] = {}
        for place, item in enumerate(items):
            groups.setdefault(whisper_decoding.whisper_language(item), []).append(place)
        for language, places in groups.items():
            texts |= zip(places, self._generate([parts[place] for place in places], language), strict=True)
        return [texts[place] for place in range(len(parts))]

    def _generate(self, parts: Sequence[Samples], language: str | None) -> list[str]:
        features = self._features(
            [np.asarray(part) for part in parts], sampling_rate=16_000, padding="max_length", return_tensors="pt"
        ).input_features
        told = {"language": language, "task": "transcribe"} if self._multilingual else {}
        with torch.inference_mode():
            tokens = self._model.generate(
                features.to(self._device), do_sample=False, num_beams=1, return_timestamps=False,
                condition_on_prev_tokens=False, **told,
            )  # fmt: skip
        texts: list[str] = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return texts
