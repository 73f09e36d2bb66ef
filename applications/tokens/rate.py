"""The probe ``tokens_rate``: how many bits the tokens of a codec take, by four models of them, and which are used.

What is kept of a clip are counts by codebook (from 1, or ``all``): ``bits:<model>:<codebook>`` with log2 of the entries
as total, where the model is ``unigram``, ``after``, ``beside`` (:mod:`codec_superb.applications.tokens.entropy`) or
``coded`` (the context model; over all codebooks what the coder wrote); ``bias:<model>:<codebook>``, what the estimate
is expected to be too low by, on the first clip alone; and ``use:<codebook>``, entries that no clip before it has.

The coder's model is trained on clips of other clusters (folds of whole speakers and recordings), then on the clip
itself as it goes. One bit a clip says whether it is coded, or sent as it is where that is shorter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil, log2

import numpy as np

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoredPair, ScoringInput
from codec_superb.applications.probe import Probe
from codec_superb.applications.tokens.answers import answered
from codec_superb.applications.tokens.coder import Coded, coded
from codec_superb.applications.tokens.context_model import ContextModel
from codec_superb.applications.tokens.entropy import KINDS, entropies, first_uses, nominal_bits
from codec_superb.applications.tokens.matches import ALL, Counts, Tokens
from codec_superb.applications.tokens.source import tokens_of
from codec_superb.applications.tokens.stability import counted

FOLDS = 5


def score(probe: Probe, question: ScoringInput) -> ProbeScores:  # noqa: ARG001 -- the table says what takes part
    """Return the counts of each clip; a clip without tokens, or without a resynthesis, has failed."""
    sizes = tuple(question.entries)
    tokens, outcomes = answered(question, np.ndarray, tokens_of)
    folds = folds_of([item for item in question.items if item.clip in tokens], tokens)
    pairs: list[ScoredPair] = []
    for clip, counts in rates(tokens, sizes, folds).items():
        pairs += counted(clip, counts)
        outcomes[clip] = ClipOutcome("ok", shared={"counts": float(len(counts)), "tokens": float(tokens[clip].size)})
    settings: dict[str, str | int | float | bool] = {"folds": max(folds.values(), default=-1) + 1, "coder": "ANS"}
    return ProbeScores(outcomes, pairs=tuple(pairs), settings=settings)


def folds_of(items: Sequence[Item], tokens: Mapping[str, Tokens]) -> dict[str, int]:
    """Return the fold of each clip: whole clusters, the largest first, each into the fold with the fewest tokens."""
    clusters: dict[str, list[str]] = {}
    for item in items:
        clusters.setdefault(item.cluster or f"clip {item.clip}", []).append(item.clip)
    amounts = {name: sum(tokens[clip].size for clip in clips) for name, clips in clusters.items()}
    filled = [0] * min(FOLDS, len(clusters))
    found: dict[str, int] = {}
    for name in sorted(clusters, key=lambda name: (-amounts[name], name)):
        fold = filled.index(min(filled))
        filled[fold] += amounts[name]
        found |= dict.fromkeys(clusters[name], fold)
    return found


def rates(tokens: Mapping[str, Tokens], sizes: Sequence[int], folds: Mapping[str, int]) -> dict[str, Counts]:
    """Return the counts of clips ``(codebooks, frames)`` with codebooks of ``sizes`` entries.

    Raises ApplicationError for other tokens than the codebooks have, MissingPackage without ``constriction``.
    """
    _refuse_others(tokens, sizes)
    counts: dict[str, Counts] = {clip: {} for clip in sorted(tokens)}
    if not counts:
        return counts
    for book, size in enumerate(sizes):
        uses = first_uses(tokens, book)
        for kind in KINDS:
            found_bits = entropies(tokens, kind, book)
            for clip, of in counts.items():
                of[f"bits:{kind}:{book + 1}"] = (tokens[clip].shape[1] * log2(size), found_bits.bits[clip])
            # one number for all clips: the first holds it
            next(iter(counts.values()))[f"bias:{kind}:{book + 1}"] = (1.0, found_bits.bias)
        for clip, of in counts.items():
            of[f"use:{book + 1}"] = (size / len(counts), float(uses[clip]))
    for clip, written in coded_by_folds(tokens, sizes, folds):
        frames, whole = tokens[clip].shape[1], nominal_bits(sizes, tokens[clip].shape[1])
        for book, (size, bits) in enumerate(zip(sizes, written.ideal, strict=True), start=1):
            counts[clip][f"bits:coded:{book}"] = (frames * log2(size), float(bits))
        counts[clip][f"bits:coded:{ALL}"] = (whole, float(1 + min(written.bits, ceil(whole - 1e-9))))
    for of in counts.values():
        _add_sums(of, len(sizes))
    return counts


def _refuse_others(tokens: Mapping[str, Tokens], sizes: Sequence[int]) -> None:
    for clip, found in tokens.items():
        if len(found) != len(sizes) or (found.max(axis=1) >= np.array(sizes)).any() or found.min() < 0:
            raise ApplicationError(
                f"{clip}: expected tokens of {len(sizes)} codebooks of {', '.join(map(str, sizes))} entries, got those "
                f"of {len(found)} codebooks, {found.min()} to {found.max()}"
            )


def coded_by_folds(
    tokens: Mapping[str, Tokens], sizes: Sequence[int], folds: Mapping[str, int]
) -> Iterator[tuple[str, Coded]]:
    """Yield each clip as it is coded by a model that was trained on the clips of other folds."""

    def of_fold(fold: int) -> list[tuple[str, Coded]]:
        model = ContextModel(sizes)
        model.train(tokens[clip] for clip in sorted(tokens) if folds[clip] != fold)
        return [(clip, coded(tokens[clip], model)) for clip in sorted(tokens) if folds[clip] == fold]

    # the compiled loops run without the interpreter's lock; a model takes 64 MB
    with ThreadPoolExecutor(min(FOLDS, len(os.sched_getaffinity(0)))) as pool:
        for found in pool.map(of_fold, sorted(set(folds.values()))):
            yield from found


def _add_sums(counts: Counts, codebooks: int) -> None:
    names = [*(f"bits:{kind}" for kind in KINDS), *(f"bias:{kind}" for kind in KINDS), "use"]
    for name in (name for name in names if f"{name}:1" in counts):
        parts = [counts[f"{name}:{book}"] for book in range(1, codebooks + 1)]
        counts[f"{name}:{ALL}"] = (sum(total for total, _ in parts), sum(value for _, value in parts))
