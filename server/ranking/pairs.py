"""The best codec of a band against each of its rivals, on the clips that both have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from codec_superb.metrics.table import Category
from codec_superb.pipeline.statistics.effect import FEWEST, PairedTest, paired_test
from codec_superb.server.ranking.caches import RankingCaches
from codec_superb.server.ranking.clips import clip_values, same_clips


@dataclass(frozen=True, slots=True)
class Contest:
    """Two submissions in a category, on the datasets that both scores rest on."""

    best: str
    other: str
    datasets: tuple[str, ...]
    category: Category


def contest(session: Session, pair: Contest, kept: RankingCaches) -> PairedTest | None:
    """Test the overall scores of clips, cluster by cluster; None where the two share no clip with stored rows."""
    test: PairedTest | None = kept.comparisons.get(pair, lambda: _test(session, pair, kept))
    return test


def _test(session: Session, pair: Contest, kept: RankingCaches) -> PairedTest | None:
    sides = [clip_values(session, side, pair.datasets, pair.category, kept.clips) for side in (pair.best, pair.other)]
    gaps, clusters, first = [], [], 0
    for dataset in pair.datasets:
        found = [side.get(dataset) for side in sides]
        places, numbers = same_clips(found)
        if len(places) < len(sides):
            continue
        best, other = (one.scores(pair.category) for one in found if one is not None)
        both = np.isfinite(best - other)
        gaps.append((best - other)[both])
        clusters.append(numbers[both] + first)  # clusters of two datasets are never the same
        first += int(numbers.max(initial=-1)) + 1
    if not sum(len(gap) for gap in gaps):
        return None
    return paired_test(np.concatenate(gaps), np.concatenate(clusters))


def is_ahead(test: PairedTest) -> bool:
    """Whether the first one is the better one on the clips, by the mean difference of the clusters."""
    return (test.rank_biserial or 0.0) > 0 if test.cohen_dz is None else test.cohen_dz > 0


def p_value(test: PairedTest | None) -> float | None:
    """Two-sided p-value of the paired t test over clusters, t being Cohen's d_z times the root of their number.

    None for fewer than two clusters. Wilcoxon's test, which ``compare`` shows, has no p-value below 0.03 for six
    clusters: on small datasets nothing would ever be told apart after Holm's correction.
    """
    from scipy.special import stdtr

    if test is None or test.clusters < FEWEST:
        return None
    if test.cohen_dz is None:  # all clusters differ by the same amount, or none does
        return 0.0 if test.rank_biserial else 1.0
    return 2.0 * float(stdtr(test.clusters - 1, -abs(test.cohen_dz) * math.sqrt(test.clusters)))
