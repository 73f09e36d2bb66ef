"""A decoder-only transformer over grids of tokens, with a head of each codebook, and one across depth.

What comes into a step is the sum of the vectors of the step before (or these side by side, projected), and at the
first step a vector of its own. A head gives its codebook's distribution; where a pattern has a depth model, that one
reads the step's state and then the vectors of the frame's tokens, one by one. The end of a clip is not predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from codec_superb.applications.packages import require_packages
from codec_superb.applications.token_models.configuration import TokenModelConfiguration
from codec_superb.applications.token_models.patterns import EMPTY, Integers, Pattern
from codec_superb.applications.transformers_checkpoint import import_transformers

EXTRA = "xares"


class TokenModel(nn.Module):
    """``forward`` gives the summed loss of a batch of grids in nats; ``losses`` that of each token."""

    offsets: Tensor

    def __init__(self, sizes: Sequence[int], pattern: Pattern, configuration: TokenModelConfiguration) -> None:
        """Take the entries of each codebook; weights are drawn from torch's generator."""
        super().__init__()
        self.sizes, self.pattern = tuple(sizes), pattern
        hidden = configuration.shape["hidden_size"]
        # one table for all codebooks: entry 0 is no token, whose vector stays 0
        self.embedding = nn.Embedding(1 + sum(self.sizes), hidden, padding_idx=0)
        nn.init.normal_(self.embedding.weight[1:], std=hidden**-0.5)
        self.register_buffer("offsets", torch.tensor(np.cumsum([1, *self.sizes[:-1]])), persistent=False)
        wide = configuration.joined == "projected"
        self.join = nn.Linear(hidden * len(self.sizes), hidden, bias=False) if wide else None
        self.begin = nn.Parameter(torch.randn(hidden) * hidden**-0.5)
        self.dropout = nn.Dropout(configuration.dropout)
        self.transformer = _transformer(configuration.shape)
        self.depth: DepthModel | None = None
        if pattern.depth and len(self.sizes) > 1:
            self.depth = DepthModel(self.sizes, hidden, configuration.depth)
        # one matrix for the heads of all codebooks; from zeros, so that training begins at uniform distributions
        self.heads = nn.Linear(configuration.depth["hidden_size"] if self.depth else hidden, sum(self.sizes))
        nn.init.zeros_(self.heads.weight)
        nn.init.zeros_(self.heads.bias)

    def forward(self, grids: Sequence[Integers]) -> Tensor:
        """Return the loss of all tokens of a batch, summed, in nats."""
        found: Tensor = self.losses(grids).sum()
        return found

    def losses(self, grids: Sequence[Integers]) -> Tensor:
        """Return the loss of each token in nats, ``(batch, steps, codebooks)``; 0 where a grid has none."""
        grid = self._batch(grids)
        states = self.dropout(self.transformer(inputs_embeds=self._entered(grid), use_cache=False).last_hidden_state)
        if self.depth is not None:
            return self._down(states, grid)
        if not self.pattern.interleaved:
            return self._of_books(self.heads(states).split(self.sizes, dim=-1), grid)
        found: Tensor = states.new_zeros(grid.shape, dtype=torch.float32)
        for book in range(len(self.sizes)):
            there = grid[..., book] != EMPTY
            # a head sees the steps that have a token of its own alone: one in as many as there are codebooks
            logits = functional.linear(states[there], *self._head(book)).float()
            found[..., book][there] = _cross_entropy(logits, grid[..., book][there])
        return found

    def values(self) -> dict[str, Tensor]:
        """Return all weights by name."""
        return {name: value.data for name, value in self.named_parameters()}

    def _batch(self, grids: Sequence[Integers]) -> Tensor:
        # padded behind: nothing looks ahead, so that what is padded changes nothing before it
        rows = [torch.from_numpy(np.ascontiguousarray(grid)) for grid in grids]
        found = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=EMPTY)
        return found.to(self.begin.device)

    def _entered(self, grid: Tensor) -> Tensor:
        rows = torch.where(grid[:, :-1] == EMPTY, 0, grid[:, :-1] + self.offsets)
        if self.join is not None:
            entered = self.join(self.embedding(rows).flatten(2))
        else:
            # summed without a copy of each vector: a sixteenth of the memory of 16 codebooks
            flat = functional.embedding_bag(rows.flatten(0, 1), self.embedding.weight, mode="sum", padding_idx=0)
            # a clip of one frame has no step before its first
            entered = flat.view(*rows.shape[:2], self.begin.numel())
        begin = self.begin.to(entered.dtype).expand(len(grid), 1, -1)
        found: Tensor = self.dropout(torch.cat([begin, entered], dim=1))
        return found

    def _head(self, book: int) -> tuple[Tensor, Tensor]:
        start = sum(self.sizes[:book])
        part = slice(start, start + self.sizes[book])
        return self.heads.weight[part], self.heads.bias[part]

    def _of_books(self, logits: Sequence[Tensor], wanted: Tensor) -> Tensor:
        """Return the loss of each token, ``(…, codebooks)`` as ``wanted``; logits of a book are ``(…, entries)``."""
        if len(set(self.sizes)) == 1:
            # one call for all codebooks of one size
            return _cross_entropy(torch.stack(list(logits), dim=-2), wanted)
        books = [_cross_entropy(of_book, wanted[..., book]) for book, of_book in enumerate(logits)]
        return torch.stack(books, dim=-1)

    def _down(self, states: Tensor, grid: Tensor) -> Tensor:
        assert self.depth is not None
        there = grid[..., 0] != EMPTY
        frames = grid[there]
        found = states.new_zeros(grid.shape, dtype=torch.float32)
        deep = self.depth(states[there], frames)
        logits = [functional.linear(deep[:, book], *self._head(book)) for book in range(len(self.sizes))]
        found[there] = self._of_books(logits, frames)
        return found


def _cross_entropy(logits: Tensor, wanted: Tensor) -> Tensor:
    """Return ``wanted``-shaped losses in nats, 0 where there is no token; ``logits`` are ``(…, entries)``."""
    flat = functional.cross_entropy(
        logits.flatten(0, -2).float(), wanted.flatten(), ignore_index=EMPTY, reduction="none"
    )  # fmt: skip
    return flat.view(wanted.shape)


class DepthModel(nn.Module):
    """A transformer across the codebooks of a frame, whose first step is the state of the one over time."""

    offsets: Tensor

    def __init__(self, sizes: Sequence[int], states: int, shape: Mapping[str, int]) -> None:
        super().__init__()
        hidden = shape["hidden_size"]
        self.enter = nn.Linear(states, hidden)
        self.embedding = nn.Embedding(sum(sizes[:-1]), hidden)
        nn.init.normal_(self.embedding.weight, std=hidden**-0.5)
        self.place = nn.Parameter(torch.randn(len(sizes), hidden) * hidden**-0.5)
        self.register_buffer("offsets", torch.tensor(np.cumsum([0, *sizes[:-2]])), persistent=False)
        self.transformer = _transformer(shape)

    def forward(self, states: Tensor, frames: Tensor) -> Tensor:
        """Return what heads read, ``(frames, codebooks, hidden)``, of states and tokens ``(frames, codebooks)``."""
        first = self.enter(states)
        before = self.embedding(frames[:, :-1] + self.offsets)
        entered = torch.cat([first[:, None], before + first[:, None]], dim=1) + self.place
        found: Tensor = self.transformer(inputs_embeds=entered, use_cache=False).last_hidden_state
        return found


def make_model(sizes: Sequence[int], pattern: Pattern, configuration: TokenModelConfiguration, seed: int) -> TokenModel:
    """Return a model with weights that follow the seed. Raises MissingPackage with the install command."""
    require_packages(f"token model {configuration.model}", EXTRA, "torch", "transformers", "accelerate")
    torch.manual_seed(seed)
    return TokenModel(sizes, pattern, configuration)


def _transformer(shape: Mapping[str, int]) -> Any:
    transformers: Any = import_transformers()
    said = dict(shape)
    # transformers 5 keeps the base of rotary positions beside their kind
    rope = {"rope_type": "default", "rope_theta": float(said.pop("rope_theta", 10_000))}
    configuration = transformers.Qwen2Config(
        vocab_size=1, max_position_embeddings=1 << 20, rope_parameters=rope, bos_token_id=None, eos_token_id=None,
        pad_token_id=None, **said,
    )  # fmt: skip
    model = transformers.Qwen2Model(configuration)
    # vectors come from tables of codebooks
    del model.embed_tokens
    return model
