"""Figures of token models from what is kept of clips, each with its interval by clusters of clips."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.token_models.likelihood import ClipLikelihood
from codec_superb.metrics.results import Score
from codec_superb.pipeline.aggregates.interval import score_of
from codec_superb.pipeline.statistics.jackknife import GROUPS, Jackknife, numbered, shares_of
from codec_superb.record import Record

Floats = NDArray[np.float64]


class CodebookFigure(Record):
    """One codebook."""

    codebook: int
    """Number, from 1."""
    entries: int
    bits: Score
    """Bits a token."""
    perplexity: Score
    """2 to their power."""


class TokenModelFigures(Record):
    """One model on clips that it never saw."""

    clips: int
    clusters: int
    seconds: float
    tokens: int
    bits: Score
    """Bits a token, over all codebooks."""
    perplexity: Score
    """2 to the power of bits a token."""
    kbps: Score
    """Ideal bitrate of a code that knows the model: bits of all clips a second of theirs."""
    nominal_kbps: float
    """The same where every entry of a codebook is as likely as any other."""
    codebooks: tuple[CodebookFigure, ...]


def figures(found: Sequence[ClipLikelihood], sizes: Sequence[int]) -> TokenModelFigures:
    """Return the figures of clips with a frame at least. Raises ValueError where there is none."""
    kept = [of for of in found if of.frames]
    if not kept:
        raise ValueError("expected held-out clips with a frame at least, got none")
    clusters = numbered([f"{of.dataset} {of.cluster or '/' + of.clip}" for of in kept])
    frames = np.array([of.frames for of in kept], np.float64)
    seconds = np.array([of.seconds for of in kept])
    by_book = np.array([of.bits for of in kept])
    bits = by_book.sum(axis=1)
    each = ratio(bits, frames * len(sizes), clusters)
    nominal = float(sum(map(log2, sizes)) * frames.sum() / seconds.sum() / 1000)
    books = []
    for book, size in enumerate(sizes):
        of_book = ratio(by_book[:, book], frames, clusters)
        books.append(
            CodebookFigure(
                codebook=book + 1,
                entries=size,
                bits=score_of(of_book, 0.0),
                perplexity=score_of(of_book.map(np.exp2), 1.0),
            )
        )
    return TokenModelFigures(
        clips=len(kept), clusters=int(clusters.max()) + 1, seconds=float(seconds.sum()),
        tokens=int(frames.sum()) * len(sizes), bits=score_of(each, 0.0), perplexity=score_of(each.map(np.exp2), 1.0),
        kbps=score_of(ratio(bits / 1000, seconds, clusters), 0.0), nominal_kbps=nominal, codebooks=tuple(books),
    )  # fmt: skip


def ratio(above: Floats, below: Floats, clusters: NDArray[np.int64]) -> Jackknife:
    """Return a ratio of sums over clips, and what it is without each cluster."""
    groups = clusters % GROUPS
    count = int(groups.max()) + 1
    over, under = (np.bincount(groups, weights=of, minlength=count) for of in (above, below))
    left = under.sum() - under
    without = np.divide(over.sum() - over, left, out=np.full(count, np.nan), where=left > 0)
    return Jackknife(np.asarray(over.sum() / under.sum()), (without,), (shares_of(groups, count),))
