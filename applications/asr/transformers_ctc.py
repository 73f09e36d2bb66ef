"""wav2vec 2.0 with a head for CTC through transformers: the likeliest letter of each frame, repetitions merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import AutoFeatureExtractor, AutoTokenizer

from codec_superb.applications.asr.checkpoints import check_rate
from codec_superb.applications.interface import Item, Model, Samples
from codec_superb.applications.transformers_checkpoint import frame_samples, load_network

_UNUSED = frozenset({"wav2vec2.masked_spec_embed"})
"""Tensors that only training needs."""


class CtcRecogniser:
    """A wav2vec 2.0 model.

    Parts of different length share a batch only where the model was trained with an attention mask, which is where its
    convolutions normalise each frame by itself (``feat_extract_norm`` is ``layer``). With ``group`` they normalise over
    time, padding would change every frame, and parts go one by one.
    """

    def __init__(self, model: Model, device: str, threads: int) -> None:
        assert model.path is not None
        extractor: Any = AutoFeatureExtractor
        self._device = device
        self._features = extractor.from_pretrained(model.path, local_files_only=True)
        check_rate(model, self._features)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(model.path, local_files_only=True)
        self._model = load_network("Wav2Vec2ForCTC", model.path, device, threads, unused=_UNUSED)
        # Group normalisation is over the whole padded clip, layer normalisation over each frame: only the latter can
        # know a mask.
        self._masked = self._model.config.feat_extract_norm == "layer"
        self._shortest = frame_samples(self._model.config.conv_kernel, self._model.config.conv_stride)

    def check(self, item: Item) -> None:
        """Accept every clip, because a checkpoint does not state its languages."""

    def transcribe(self, parts: Sequence[Samples], items: Sequence[Item]) -> list[str]:  # noqa: ARG002 -- no language is told
        """Return the text of each part; one too short for a single frame has an empty text."""
        texts = dict.fromkeys(range(len(parts)), "")
        heard = [place for place, part in enumerate(parts) if part.size >= self._shortest]
        for group in [heard] if self._masked and heard else [[place] for place in heard]:
            texts |= zip(group, self._decoded([parts[place] for place in group]), strict=True)
        return [texts[place] for place in range(len(parts))]

    def _decoded(self, parts: Sequence[Samples]) -> list[str]:
        # Each part is scaled by itself, before silence is added to it.
        scaled = [self._features(part, sampling_rate=16_000, return_tensors="np").input_values[0] for part in parts]
        lengths = torch.tensor([one.size for one in scaled])
        values = np.zeros((len(scaled), int(lengths.max())), np.float32)
        for row, one in zip(values, scaled, strict=True):
            row[: one.size] = one
        mask = (torch.arange(values.shape[1]) < lengths[:, None]).long().to(self._device) if self._masked else None
        with torch.inference_mode():
            logits = self._model(torch.from_numpy(values).to(self._device), attention_mask=mask).logits
            best = logits.argmax(dim=-1).cpu()
        frames = self._model._get_feat_extract_output_lengths(lengths)  # noqa: SLF001 -- the one place that knows it
        texts: list[str] = [self._tokenizer.decode(row[: int(count)]) for row, count in zip(best, frames, strict=True)]
        return texts
