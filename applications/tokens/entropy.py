"""Entropy of tokens by codebook: unigram, given the frame before, given the codebook before in the frame; use.

All are plug-in estimates: of the empirical distribution over all clips (Shannon 1948). They are biased low, the more so
the more contexts there are for the tokens: by about ``(cells - contexts) / (2 n ln 2)`` bits a token, where cells are
the pairs of context and token that occur (Miller 1955, for each context). :class:`Entropy` has that bias beside each. A
sequence of ``n`` tokens of a codebook of ``K`` entries says little about what follows what unless ``n`` is far
above ``K``²; the entropy coder (:mod:`codec_superb.applications.tokens.coder`) measures that on clips it has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.tokens.matches import Tokens

Numbers = NDArray[np.int64]
KINDS = ("unigram", "after", "beside")
"""Given nothing, the token before in the same codebook, the token of the codebook before in the same frame."""


class Entropy(NamedTuple):
    """Of one kind in one codebook."""

    bits: dict[str, float]
    """By clip: -log2 of the empirical probability, summed over its tokens; all clips' over all tokens: the entropy."""
    bias: float
    """Bits a token that the estimate is expected to be too low by."""


def entropies(tokens: Mapping[str, Tokens], kind: str, book: int) -> Entropy:
    """Return the entropy of codebook ``book`` (from 0) over clips ``(codebooks, frames)``.

    A clip's first frame has no frame before it, which is a context of its own, and so has the first codebook.
    """
    names = sorted(tokens)
    own = np.concatenate([tokens[name][book] for name in names]).astype(np.int64)
    given = np.concatenate([_context(tokens[name], kind, book) for name in names]).astype(np.int64)
    pairs, place, counts = np.unique(given * (own.max() + 1) + own, return_inverse=True, return_counts=True)
    contexts, of_context, totals = np.unique(given, return_inverse=True, return_counts=True)
    each = np.log2(totals[of_context] / counts[place]) + 0.0
    ends = np.cumsum([tokens[name].shape[1] for name in names])[:-1]
    by_clip = {name: float(part.sum()) for name, part in zip(names, np.split(each, ends), strict=True)}
    return Entropy(by_clip, (pairs.size - contexts.size) / (2 * own.size * log(2)))


def _context(tokens: Tokens, kind: str, book: int) -> Numbers:
    """Return what each token is given, from 1; 0 where there is nothing."""
    given = np.zeros(tokens.shape[1], np.int64)
    if kind == "after":
        given[1:] = tokens[book, :-1] + 1
    elif kind == "beside" and book:
        given[:] = tokens[book - 1] + 1
    return given


def first_uses(tokens: Mapping[str, Tokens], book: int) -> dict[str, int]:
    """Return by clip how many entries no clip before it (by name) has; their sum is how many are used."""
    seen: set[int] = set()
    found = {}
    for name in sorted(tokens):
        own = set(np.unique(tokens[name][book]).tolist())
        found[name] = len(own - seen)
        seen |= own
    return found


def nominal_bits(sizes: Sequence[int], frames: int) -> float:
    """Return the bits of ``frames`` frames at log2 of each codebook's entries."""
    return float(frames * np.log2(np.array(sizes, np.float64)).sum())
