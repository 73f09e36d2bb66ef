"""The best codec of a band against each of its rivals, on the clips that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from codec_superb.metrics.table import Category
from codec_superb.pipeline.statistics.effect import PairedTest, paired_test
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


def is_ahead(test: PairedTest | None) -> bool:
    """Whether the first one is the better one on the clips, by the ranks of the differences."""
    return test is not None and (test.rank_biserial or 0.0) > 0


def p_values(tests: Sequence[PairedTest | None]) -> list[float]:
    """Return the p-values; 1 where there is no test."""
    return [1.0 if test is None or test.p is None else test.p for test in tests]
