"""Ranks of codecs in a category, with intervals of the ranks by a bootstrap of clusters of clips.

All codecs are ranked on the clips that all of them share, and a value counts only where all of them have one, so that
a codec cannot gain from clips it failed on. A codec that cannot be ranked (another dataset, no shared clip, a metric
without a value) is listed with the reason and does not reduce the shared clips of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codec_superb.metrics.noise.random_numbers import SEED
from codec_superb.metrics.overall import category_score
from codec_superb.metrics.table import CATEGORIES, Category, overall_metrics
from codec_superb.pipeline.statistics.bootstrap import REPLICATES, widening
from codec_superb.pipeline.statistics.clip_arrays import ClipArrays
from codec_superb.pipeline.statistics.groups import ClipPool, SharedClips, group_rows, share
from codec_superb.pipeline.statistics.jackknife import CONFIDENCE, Floats
from codec_superb.pipeline.tables.rows import ClipRow


@dataclass(frozen=True, slots=True)
class Rank:
    """One codec's rank; 1 is the best, equal scores share a rank."""

    codec: str
    score: float
    """Overall score on the shared clips, which may differ from the codec's score on all of its clips."""
    rank: int
    best: int
    """Lower end of the 95 % interval of the rank."""
    worst: int
    """Upper end."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """All codecs of one category."""

    category: Category
    datasets: tuple[str, ...]
    """Datasets of the ranking: the combination that most codecs were run on."""
    clips: int
    """Clips shared by all ranked codecs."""
    ranks: tuple[Rank, ...]
    """Best first."""
    unranked: Mapping[str, str]
    """Reason why a codec has no rank, by codec."""


def rank_codecs(
    rows: Mapping[str, Sequence[ClipRow]], *, seed: int = SEED, replicates: int = REPLICATES
) -> dict[Category, Ranking]:
    """Rank codecs (name to rows) by category; the order of codecs and rows does not matter.

    Datasets of the same name must have the same manifest hash, which the caller checks. Raises PipelineError when a
    codec has a clip twice.
    """
    grouped = {codec: group_rows(rows[codec]) for codec in sorted(rows)}
    return {
        category: _rank(category, {codec: _of(groups, category) for codec, groups in grouped.items()}, seed, replicates)
        for category in CATEGORIES
        if any(group.category == category for groups in grouped.values() for group in groups)
    }


def _of(groups: Mapping[ClipPool, ClipArrays], category: Category) -> dict[str, ClipArrays]:
    """Clips by dataset, of those with a resynthesis."""
    return {group.dataset: its.at(its.ok) for group, its in groups.items() if group.category == category}


def _rank(category: Category, codecs: Mapping[str, Mapping[str, ClipArrays]], seed: int, replicates: int) -> Ranking:
    datasets = _most_common(codecs)
    unranked: dict[str, str] = {}
    for codec, have in codecs.items():
        reason = _unfit(have, datasets, category)
        if reason:
            unranked[codec] = reason
    ranked = [codec for codec in codecs if codec not in unranked]
    joints = [
        share(ClipPool(dataset, category), [codecs[codec][dataset] for codec in ranked], overall_metrics(category))
        for dataset in datasets
        if ranked
    ]
    scores = _scores(joints, seed, replicates)
    if scores is None:
        reason = "the codecs share no clip on which every metric of the overall score has a value"
        unranked |= dict.fromkeys(ranked, reason)
    return Ranking(
        category=category,
        datasets=datasets,
        clips=sum(joint.clips for joint in joints) if scores else 0,
        ranks=place_codecs(ranked, *scores, min(joint.cluster_count for joint in joints)) if scores else (),
        unranked=unranked,
    )


def _most_common(codecs: Mapping[str, Mapping[str, ClipArrays]]) -> tuple[str, ...]:
    """Choose the combination of datasets that most codecs were run on; in a tie the larger, then the first by name."""
    counts = Counter(tuple(sorted(have)) for have in codecs.values() if have)
    # most codecs first, then most datasets, then the alphabet: no dependence on the order of codecs
    return min(counts, key=lambda names: (-counts[names], -len(names), names))


def _unfit(have: Mapping[str, ClipArrays], datasets: Sequence[str], category: Category) -> str:
    """Return why a codec cannot be ranked on these datasets; '' when it can."""
    for dataset in datasets:
        if dataset not in have:
            return f"not run on {dataset}"
        if not len(have[dataset]):
            return f"failed on every clip of {dataset}"
        for key in overall_metrics(category):
            if not np.isfinite(have[dataset].value(key)).any():
                return f"{key} has no value on any clip of {dataset}"
    return ""


def _scores(joints: Sequence[SharedClips], seed: int, replicates: int) -> tuple[Floats, Floats] | None:
    """Category scores of shape ``(codecs,)`` and ``(replicates, codecs)``."""
    known = [scores for joint in joints if (scores := joint.scores()) is not None]
    if not known or len(known) < len(joints):
        return None
    draws = [joint.score(joint.draw(seed, replicates)) for joint in joints]
    return category_score([scores.point for scores in known]), category_score(draws)


def place_codecs(codecs: Sequence[str], point: Floats, draws: Floats, clusters: int) -> tuple[Rank, ...]:
    """Rank the codecs, with ranges of ranks by draws of ``clusters`` clusters (the fewest of a dataset).

    With one nothing was drawn, and the ranges cover all ranks.
    """
    if clusters > 1:
        draws = point + widening(clusters) * (draws - point)
    # Rounded, so that codecs with equal values tie although their sums are rounded differently.
    point, known = np.round(point, 12), np.round(draws[np.isfinite(draws).all(axis=1)], 12)
    tail = (1 - CONFIDENCE) / 2
    ranks = []
    for position, codec in enumerate(codecs):
        own = known[:, [position]]
        above = (known > own).sum(axis=1) + 1
        among = (known >= own).sum(axis=1)
        place = int((point > point[position]).sum()) + 1
        # ranks are whole: no interpolation between two of them
        best = int(np.quantile(above, tail, method="lower")) if len(known) else place
        worst = int(np.quantile(among, 1 - tail, method="higher")) if len(known) else place
        if clusters == 1:
            best, worst = 1, len(codecs)
        ranks.append(Rank(codec, float(point[position]), place, min(best, place), max(worst, place)))
    return tuple(sorted(ranks, key=lambda rank: (rank.rank, rank.codec)))
