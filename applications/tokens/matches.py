"""How many tokens of two codings are the same, by codebook, and how many edits lie between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.asr.edits import count_edits

Tokens = NDArray[np.integer[Any]]
"""Shape ``(codebooks, frames)``."""
Counts = dict[str, tuple[float, float]]
"""By name a total, and what there is of it."""
ALL, FIRST = "all", "1"


def matches(key: str, reference: Tokens, other: Tokens, later: int = 0) -> Counts:
    """Count tokens of ``other`` that are those of ``reference`` at the same place, by codebook and over all.

    ``later`` is by how many frames ``other`` comes later. Places that only one of the two has are not counted here;
    the edits of the first codebook, a sequence of any length, count them (Levenshtein 1966).
    """
    moved = other[:, later:]
    frames = min(reference.shape[1], moved.shape[1])
    same = (reference[:, :frames] == moved[:, :frames]).sum(axis=1)
    found: Counts = {f"match:{key}:{ALL}": (float(frames * len(reference)), float(same.sum()))}
    found |= {f"match:{key}:{book}": (float(frames), float(count)) for book, count in enumerate(same, start=1)}
    edits = count_edits(reference[0].tolist(), moved[0].tolist()).errors
    found[f"edits:{key}"] = (float(reference.shape[1]), float(edits))
    return found


def chances(tokens: Mapping[str, Tokens]) -> dict[str, Counts]:
    """Return by clip how many tokens would be the same by chance: the shares of each token's entry, summed.

    Over all clips that is Σ p² of each codebook times its tokens: the match of two unrelated sequences with the
    codebook's distribution over all clips.
    """
    names = sorted(tokens)
    if not names:
        return {}
    found: dict[str, Counts] = {name: {} for name in names}
    whole = dict.fromkeys(names, 0.0)
    for book in range(len(tokens[names[0]])):
        rows = [tokens[name][book] for name in names]
        _, place, counts = np.unique(np.concatenate(rows), return_inverse=True, return_counts=True)
        shares = (counts / counts.sum())[place]
        for name, part in zip(names, np.split(shares, np.cumsum([row.size for row in rows])[:-1]), strict=True):
            found[name][f"chance:{book + 1}"] = (float(part.size), float(part.sum()))
            whole[name] += float(part.sum())
    for name in names:
        found[name][f"chance:{ALL}"] = (float(tokens[name].size), whole[name])
    return found
