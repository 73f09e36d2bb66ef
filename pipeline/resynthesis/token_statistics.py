"""Statistics of a codec's tokens: rates, empirical entropy, usage and perplexity of each codebook.

Entropy is that of the empirical distribution of each codebook's tokens over all clips, in bits per token (Shannon
1948); perplexity is 2 to that power. ``entropy_kbps`` sums the codebooks: the bitrate of an ideal memoryless code for
each of them. It is never above the bitrate of the tokens, and biased low for few tokens: m tokens of a codebook have
an empirical entropy of at most log2(m) bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class CodebookUse:
    """One codebook."""

    codebook: int
    """Number of the codebook, from 1."""
    used: int
    """Entries that occur."""
    share: float
    """Fraction of all its entries that occur, in (0, 1]."""
    entropy_bits: float
    """Bits per token."""
    perplexity: float
    """2 ** entropy: the number of equally likely entries with the same entropy."""


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """All tokens of a codec on a dataset."""

    clips: int
    seconds: float
    tokens: int
    tokens_per_second: float
    """TPS, over all codebooks."""
    frame_rate: float
    """Measured frames per second of sound, including padded last frames."""
    kbps: float
    """Measured bitrate."""
    entropy_kbps: float
    codebooks: tuple[CodebookUse, ...]


class TokenCounter:
    """Histogram of tokens, updated clip by clip; it stores one count per entry of each codebook."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """Take the number of entries of each codebook."""
        self._counts = [np.zeros(size, dtype=np.int64) for size in sizes]
        self._clips = self._bits = self._frames = 0
        self._seconds = 0.0

    def add(self, tokens: NDArray[np.integer[Any]], bits: int, seconds: float) -> None:
        """Add a clip: ``(codebooks, frames)``. Raises ValueError for another number of codebooks or other entries."""
        check_tokens(tokens, [counts.size for counts in self._counts])
        for counts, its in zip(self._counts, tokens, strict=True):
            # a clip's tokens at once: np.add.at takes them one by one
            np.add(counts, np.bincount(its, minlength=counts.size), out=counts)
        self._clips += 1
        self._bits += bits
        self._frames += tokens.shape[1]
        self._seconds += seconds

    def statistics(self) -> TokenStatistics:
        """Return the statistics of all added clips. Raises ValueError when there are none."""
        if not self._clips:
            raise ValueError("expected at least one clip with tokens, got none")
        uses = tuple(_use(number, row) for number, row in enumerate(self._counts, start=1))
        tokens = sum(int(counts.sum()) for counts in self._counts)
        return TokenStatistics(
            clips=self._clips,
            seconds=self._seconds,
            tokens=tokens,
            tokens_per_second=tokens / self._seconds,
            frame_rate=self._frames / self._seconds,
            kbps=self._bits / self._seconds / 1000,
            # codebooks taken as independent: their joint entropy is at most this
            entropy_kbps=sum(use.entropy_bits for use in uses) * self._frames / self._seconds / 1000,
            codebooks=uses,
        )


def check_tokens(tokens: NDArray[np.integer[Any]], sizes: Sequence[int]) -> None:
    """Raise ValueError unless there is a row for each codebook, of ``sizes`` entries, with entries that it has."""
    fits = tokens.ndim == 2 and tokens.shape[0] == len(sizes)  # noqa: PLR2004 - two axes
    if not fits or not tokens.size or tokens.min() < 0 or (tokens.max(axis=1) >= np.array(sizes)).any():
        limits = " or ".join(map(str, sorted({size - 1 for size in sizes})))
        values = f" from {tokens.min()} to {tokens.max()}" if tokens.size else ""
        raise ValueError(f"expected tokens ({len(sizes)}, frames) from 0 to {limits}, got {tokens.shape}{values}")


def _use(number: int, counts: NDArray[np.int64]) -> CodebookUse:
    present = counts[counts > 0]
    shares = present / present.sum()
    entropy = float(-(shares * np.log2(shares)).sum()) + 0.0  # no negative zero
    # perplexity: the number of equally likely entries with the same entropy
    return CodebookUse(number, present.size, present.size / counts.size, entropy, 2.0**entropy)
