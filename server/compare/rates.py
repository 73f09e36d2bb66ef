"""Bjøntegaard deltas between the families of the chosen codecs, over all public codecs of these families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy.orm import Session

from codec_superb.metrics.results import UNCOUNTED
from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.comparison.families import compare_families
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.statistics.ranks import Rank, Ranking
from codec_superb.server.compare.repository import (
    category_results,
    datasets_of,
    newest_of_families,
    results_without_rows,
)
from codec_superb.web.site.compare.view import RateGap, RateNote


def compare_rates(session: Session, families: Sequence[str]) -> tuple[list[RateGap], list[RateNote]]:
    """Compare the families pairwise; and list their codecs that are on no curve, with the reason."""
    submissions = newest_of_families(session, families)
    keys = [submission.id for submission in submissions]
    aggregates, datasets = category_results(session, keys), datasets_of(session, keys)
    results = [results_without_rows(entry, datasets[entry.id], aggregates[entry.id]) for entry in submissions]
    rankings = {category: _rankable(category, results) for category in CATEGORIES}
    rates = [
        RateGap(
            category=found.category,
            family=found.family,
            against=found.against,
            rate_percent=found.delta.rate_percent,
            score=found.delta.score,
            points=found.delta.points,
            left_out=found.delta.left_out,
            reason=found.delta.reason,
        )
        for found in compare_families(results, rankings)
    ]
    notes = [
        RateNote(category, codec, reason)
        for category, ranking in rankings.items()
        for codec, reason in ranking.unranked.items()
    ]
    return rates, notes


def _rankable(category: Category, results: Sequence[Results]) -> Ranking:
    """Find the codecs whose category scores can stand on one curve: the same state of the same datasets.

    The state that most codecs have counts, as in the ranks of the command line. The ranks themselves are not used here.
    """
    states = {entry.card.name: _state(category, entry) for entry in results}
    counts = Counter(states[entry.card.name] for entry in results if entry.card.bit_source == "measured")
    counts.pop((), None)
    # Ties are broken by the state itself, so that every worker of the service chooses the same.
    usual = min(counts, key=lambda state: (-counts[state], -len(state), state), default=())
    chosen, unranked = [], {}
    for entry in results:
        name, score = entry.card.name, _score(category, entry)
        if not states[name]:
            continue
        if uncounted := UNCOUNTED.get(entry.card.bit_source):
            unranked[name] = uncounted
        elif states[name] != usual:
            unranked[name] = f"not on the same datasets as most: {', '.join(part[0] for part in usual)}"
        elif score is None:
            unranked[name] = "has no overall score"
        else:
            chosen.append(Rank(name, score, rank=1, best=1, worst=len(results)))
    names = tuple(part[0] for part in usual)
    return Ranking(category, datasets=names, clips=0, ranks=tuple(chosen), unranked=unranked)


def _score(category: Category, results: Results) -> float | None:
    return next((part.score.value for part in results.aggregates.categories if part.category == category), None)


_State = tuple[tuple[str, ...], ...]


def _state(category: Category, results: Results) -> _State:
    """Name what must be equal for two category scores to be compared; () for a codec without the category."""
    part = next((part for part in results.aggregates.categories if part.category == category), None)
    if part is None:
        return ()
    versions = [f"{key}={results.metrics.get(key)}" for key, row in METRICS.items() if category in row.overall]
    infos = [entry.info for entry in results.datasets if entry.info.name in part.datasets]
    return tuple((info.name, info.manifest_hash, str(info.selected), *versions) for info in infos)
