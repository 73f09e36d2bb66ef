"""Which codec leads at which bitrate, by how much, and what failed: the facts of a benchmark in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codec_superb.metrics.table import Category, overall_metrics
from codec_superb.pipeline.aggregates.metrics import CategoryAggregate
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.statistics.paired import Difference, compare_paired
from codec_superb.pipeline.statistics.ranks import Rank, Ranking
from codec_superb.pipeline.tables.rows import ClipRow

SAME_RATE = 1.1
"""Bitrates of up to this ratio compete with each other: encoders meet a nominal rate only about."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A codec that a leader is compared with."""

    codec: str
    score: Difference | None
    """Overall scores on the shared clips, leader minus rival; None where they share none."""

    @property
    def known(self) -> bool:
        """Whether there is an interval, which takes clips of two speakers or recordings."""
        return self.score is not None and self.score.low is not None

    @property
    def significant(self) -> bool:
        """Whether the 95 % paired interval of the difference does not hold 0."""
        found = self.score
        return (
            found is not None and found.low is not None and found.high is not None and not found.low <= 0 <= found.high
        )


@dataclass(frozen=True, slots=True)
class Leader:
    """A codec that no other at its bitrate or below surpasses in overall score on the clips that all ranked share."""

    codec: str
    kbps: float
    """Measured, over the clips of the category."""
    score: float | None
    """Over the codec's own clips of the category, as tables show it; None where a dataset of it has no score."""
    rivals: tuple[Rival, ...]
    """Best first, down to the first that is significantly worse; those at the leader's bitrate or below."""


@dataclass(frozen=True, slots=True)
class Leaders:
    """The leaders of one category."""

    category: Category
    leaders: tuple[Leader, ...]
    """By bitrate."""
    ranked: int
    """Codecs with a rank."""
    unmeasured: tuple[str, ...]
    """Codecs with a rank and no measured bitrate, which lead nothing."""
    unranked: Mapping[str, str]
    """Why a codec has no rank."""
    lacking: Mapping[str, tuple[int, int]]
    """By metric of the score: clips on which all ranked codecs have a value, which order them, and the most that one of
    them has; without metrics of which these are the same."""


@dataclass(frozen=True, slots=True)
class Failures:
    """What failed of one codec on one dataset, under one condition."""

    title: str
    dataset: str
    clips: int
    """Rows of the run."""
    stages: Mapping[str, int]
    """Clips without a resynthesis by the stage that failed; those on which a metric or a probe failed by its key."""


def find_leaders(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> list[Leaders]:
    """Find the leaders of each category among the clean results that have a rank, one entry a codec."""
    clean = {entry.card.name: entry for entry in results if entry.condition is None}
    return [_leaders(clean, ranking) for ranking in rankings.values()]


def _leaders(clean: Mapping[str, Results], ranking: Ranking) -> Leaders:
    rates = {rank.codec: _aggregate(clean[rank.codec], ranking.category).kbps for rank in ranking.ranks}
    known = {codec: kbps for codec, kbps in rates.items() if kbps is not None}
    competing = [rank for rank in ranking.ranks if rank.codec in known]  # best first
    found = []
    for rank in competing:
        limit = SAME_RATE * known[rank.codec]
        others = [other for other in competing if other is not rank and known[other.codec] <= limit]
        if all(other.score <= rank.score for other in others):
            rivals = tuple(_rivals(clean, ranking, rank.codec, others))
            score = _aggregate(clean[rank.codec], ranking.category).score.value
            found.append(Leader(rank.codec, known[rank.codec], score, rivals))
    return Leaders(
        ranking.category,
        tuple(sorted(found, key=lambda leader: leader.kbps)),
        len(ranking.ranks),
        tuple(codec for codec, kbps in rates.items() if kbps is None),
        ranking.unranked,
        dict(_lacking([clean[rank.codec] for rank in ranking.ranks], ranking.category)),
    )


def _aggregate(results: Results, category: Category) -> CategoryAggregate:
    return next(found for found in results.aggregates.categories if found.category == category)


def _lacking(ranked: Sequence[Results], category: Category) -> Iterator[tuple[str, tuple[int, int]]]:
    for key in overall_metrics(category) if ranked else ():
        known = [_clips_with(results, category, key) for results in ranked]
        shared, most = len(set.intersection(*known)), max(map(len, known))
        if shared < most:
            yield key, (shared, most)


def _clips_with(results: Results, category: Category, key: str) -> set[tuple[str, str]]:
    """Return the clips on which a metric has a value, with their dataset."""
    return {
        (row.dataset, row.clip)
        for row in results.rows
        if row.category == category
        and row.status == "ok"
        and (value := row.metrics.get(key)) is not None
        and value.value is not None
    }


def _rivals(clean: Mapping[str, Results], ranking: Ranking, leader: str, others: Sequence[Rank]) -> Iterator[Rival]:
    own = _rows(clean[leader], ranking)
    for other in others:
        paired = compare_paired(own, _rows(clean[other.codec], ranking), metrics=overall_metrics(ranking.category))
        rival = Rival(other.codec, paired.categories[0].score if paired.categories else None)
        yield rival
        if rival.significant:
            return


def _rows(results: Results, ranking: Ranking) -> list[ClipRow]:
    """Return the rows that the ranking rests on."""
    return [row for row in results.rows if row.category == ranking.category and row.dataset in ranking.datasets]


def find_failures(results: Sequence[Results]) -> list[Failures]:
    """Count what failed in all results, those under a condition too; without what is undefined or was left out."""
    found = []
    for entry in results:
        for dataset in entry.datasets:
            rows = [row for row in entry.rows if row.dataset == dataset.info.name]
            if stages := Counter(stage for row in rows for stage in _failed(row)):
                found.append(Failures(entry.title, dataset.info.name, len(rows), stages))
    return found


def _failed(row: ClipRow) -> Iterator[str]:
    if row.status == "failed":
        yield row.stage
        return
    for values in (row.metrics, row.probes):
        yield from (key for key, value in values.items() if value.status == "failed")
