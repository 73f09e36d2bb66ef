"""Families of codecs over bitrates: every family's rate–score curve against every other's, by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from codec_superb.metrics.table import Category
from codec_superb.pipeline.comparison.codecs import rank_results
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.statistics.bjontegaard import Method, RateDelta, RatePoint, bjontegaard
from codec_superb.pipeline.statistics.ranks import Ranking

Curves = dict[Category, dict[str, list[RatePoint]]]
"""Points by category and family."""


@dataclass(frozen=True, slots=True)
class FamilyComparison:
    """One family against another in one category."""

    category: Category
    family: str
    against: str
    delta: RateDelta


def compare_families(
    results: Sequence[Results], rankings: Mapping[Category, Ranking] | None = None, *, method: Method = "pchip"
) -> list[FamilyComparison]:
    """Bjøntegaard deltas of all ordered pairs of families, sorted; a pair without numbers carries the reason.

    ``results`` holds one entry a codec (see :func:`~codec_superb.pipeline.comparison.results.combine`). A curve is made
    of the codecs that have a rank in the category: all points rest on the same datasets, at their measured bitrates.
    ``rankings`` are those of ``results`` where the caller has them, else they are computed.
    """
    return [
        FamilyComparison(category, family, against, bjontegaard(curves[family], curves[against], method=method))
        for category, curves in curves_of(results, rank_results(results) if rankings is None else rankings).items()
        for family, against in permutations(sorted(curves), 2)
    ]


def curves_of(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> Curves:
    """Return the points by category and family, those that are dominated among them."""
    curves: Curves = {}
    for category, ranking in rankings.items():
        ranked = {rank.codec for rank in ranking.ranks}
        for entry in results:
            part = next((part for part in entry.aggregates.categories if part.category == category), None)
            if entry.card.name not in ranked or part is None or not part.kbps or part.score.value is None:
                continue
            point = RatePoint(part.kbps, part.score.value, entry.card.name)
            curves.setdefault(category, {}).setdefault(entry.card.family, []).append(point)
    return curves
