"""Frames, a linear projector, and a language model that continues them: ``[frames][prompt][target][end]``.

As published: no separator, no chat template, no scaling by the projector, the loss on target and end alone. Sequences
are put together without the frames that a mask leaves out and padded at their beginning, so that positions follow the
mask in training and in generation alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from codec_superb.applications.transformers_checkpoint import import_transformers
from codec_superb.applications.xares.configuration import DecoderConfiguration

IGNORED = -100
"""Label of a place that is no part of the loss, in torch's cross entropy."""
_LEAST_DEVIATION = 1e-6


class Tokenizer(Protocol):
    """Texts as numbers of tokens."""

    end: int
    """Token behind an answer."""
    size: int
    """Number of tokens."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text, with what the tokeniser adds by itself."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens."""
        ...


class Bytes:
    """The 256 bytes of UTF-8, an end and a token that fills up."""

    end = 256
    size = 258

    def encode(self, text: str) -> list[int]:
        """Return its bytes."""
        return list(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text; what is no UTF-8 becomes U+FFFD."""
        return bytes(token for token in tokens if token < self.end).decode("utf-8", "replace")


class Published:
    """The tokeniser of a checkpoint."""

    def __init__(self, tokenizer: Any, size: int) -> None:
        self._tokenizer, self.size = tokenizer, size
        self.end = int(tokenizer.eos_token_id)

    def encode(self, text: str) -> list[int]:
        """Return its tokens."""
        found: list[int] = self._tokenizer(text)["input_ids"]
        return found

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text without special tokens."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))


class Question(NamedTuple):
    """What stands before an answer."""

    frames: NDArray[np.float32]
    """``(frames, dimensions)``, those that count alone."""
    prompt: str


class _Sequences(NamedTuple):
    """Sequences of a batch, padded at their beginning; all ``(batch, length…)``."""

    embedded: Tensor
    mask: Tensor
    positions: Tensor
    labels: Tensor


class SoundDecoder(nn.Module):
    """The projector and the language model. ``forward`` gives the summed loss over targets and ends of a batch."""

    mean: Tensor
    deviation: Tensor

    def __init__(
        self, language: Any, tokenizer: Tokenizer, dimensions: int, configuration: DecoderConfiguration
    ) -> None:
        super().__init__()
        self.configuration, self.tokenizer = configuration, tokenizer
        self.language = language
        self.projector = nn.Linear(dimensions, language.config.hidden_size)
        self.register_buffer("mean", torch.zeros(dimensions))
        self.register_buffer("deviation", torch.ones(dimensions))

    def set_scale(self, sounds: Sequence[NDArray[np.float32]]) -> None:
        """Take mean and deviation of each number over the frames of sounds, where the configuration asks for it."""
        if self.configuration.standardise:
            frames = np.concatenate(sounds).astype(np.float64)
            self.mean.copy_(torch.from_numpy(frames.mean(axis=0)))
            self.deviation.copy_(torch.from_numpy(np.maximum(frames.std(axis=0), _LEAST_DEVIATION)))

    def forward(self, questions: Sequence[Question], targets: Sequence[str]) -> Tensor:
        """Return the cross entropy of all tokens of targets and ends, summed over the batch, in nats."""
        return self.losses(questions, targets).sum()

    def losses(self, questions: Sequence[Question], targets: Sequence[str]) -> Tensor:
        """Return the cross entropy of each target with its end, ``(batch,)`` in nats."""
        found = self._sequences(questions, [[*self.tokenizer.encode(text), self.tokenizer.end] for text in targets])
        logits = self._logits(found)[:, :-1].float()
        of_tokens = nn.functional.cross_entropy(
            logits.transpose(1, 2), found.labels[:, 1:], ignore_index=IGNORED, reduction="none"
        )
        loss: Tensor = of_tokens.sum(dim=1)
        return loss

    def trained(self) -> dict[str, Tensor]:
        """Return what training changes, and the scale of frames, by name; tensors are those in use."""
        learnt = {name: value for name, value in self.named_parameters() if value.requires_grad}
        return {**learnt, "mean": self.mean, "deviation": self.deviation}

    @torch.inference_mode()
    def answer(self, questions: Sequence[Question]) -> list[str]:
        """Generate greedily until the end token; a batch gives what its questions give alone."""
        found = self._sequences(questions, [[] for _ in questions])
        transformers = import_transformers()
        # an own one: that of `generate` (5.23) leaves as many tokens of the answer unpenalised as the question is long
        penalty = transformers.RepetitionPenaltyLogitsProcessor(self.configuration.repetition_penalty)
        tokens = self.language.generate(
            inputs_embeds=found.embedded, attention_mask=found.mask, do_sample=False, num_beams=1,
            max_new_tokens=self.configuration.new_tokens, eos_token_id=self.tokenizer.end,
            pad_token_id=self.tokenizer.end, logits_processor=[penalty], temperature=None, top_p=None, top_k=None,
        )  # fmt: skip
        return [self.tokenizer.decode(_until(row, self.tokenizer.end)) for row in tokens.tolist()]

    @torch.inference_mode()
    def best_of(self, question: Question, classes: Sequence[str]) -> str:
        """Return the class whose tokens, with the end, are the likeliest answer: constrained decoding."""
        losses = self.losses([question] * len(classes), classes)
        return classes[int(losses.argmin())]

    def _sequences(self, questions: Sequence[Question], targets: Sequence[Sequence[int]]) -> _Sequences:
        device = self.projector.weight.device
        embed = self.language.get_input_embeddings()
        rows, labels = [], []
        for question, target in zip(questions, targets, strict=True):
            tokens = [*self.tokenizer.encode(question.prompt), *target]
            frames = self._projected(torch.from_numpy(question.frames).to(device))
            rows.append(torch.cat([frames, embed(torch.tensor(tokens, dtype=torch.long, device=device))]))
            labels.append([IGNORED] * (len(rows[-1]) - len(target)) + list(target))
        length = max(len(row) for row in rows)
        shape = (len(rows), length)
        embedded = rows[0].new_zeros((*shape, rows[0].shape[-1]))
        mask = torch.zeros(shape, dtype=torch.long, device=device)
        wanted = torch.full(shape, IGNORED, dtype=torch.long, device=device)
        for at, row in enumerate(rows):
            embedded[at, length - len(row) :] = row
            mask[at, length - len(row) :] = 1
            wanted[at, length - len(row) :] = torch.tensor(labels[at], device=device)
        return _Sequences(embedded, mask, (mask.cumsum(dim=1) - 1).clamp(min=0), wanted)

    def _projected(self, frames: Tensor) -> Tensor:
        if not len(frames):
            raise ValueError("expected at least one frame, got none")
        frames = (frames - self.mean) / self.deviation
        pooling = self.configuration.pooling
        if pooling > 1:
            # the last ones are averaged however few they are, so that a short sound has a frame
            whole = len(frames) // pooling * pooling
            parts = [frames[:whole].reshape(-1, pooling, frames.shape[-1]).mean(dim=1)] if whole else []
            frames = torch.cat([*parts, *([frames[whole:].mean(dim=0)[None]] if len(frames) > whole else [])])
        found: Tensor = self.projector(frames)
        return found

    def _logits(self, found: _Sequences) -> Tensor:
        logits: Tensor = self.language(
            inputs_embeds=found.embedded, attention_mask=found.mask, position_ids=found.positions, use_cache=False
        ).logits
        return logits


def _until(tokens: Sequence[int], end: int) -> Sequence[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens
