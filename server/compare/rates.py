"""Bjøntegaard deltas between the families of the chosen codecs, over all public codecs of these families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.orm import Session

from codec_superb.metrics.results import UNCOUNTED
from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.comparison.families import Curves, compare_families, curves_of
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.statistics.bjontegaard import MINIMUM, RatePoint, rising
from codec_superb.pipeline.statistics.ranks import Rank, Ranking
from codec_superb.server.compare.repository import (
    category_results,
    clips_of,
    datasets_of,
    newest_of_families,
    results_without_rows,
)
from codec_superb.server.database.models import Result, Submission
from codec_superb.server.leaderboard.select import incomplete
from codec_superb.web.rows import source_label
from codec_superb.web.senders import sent
from codec_superb.web.site.compare.view import RateGap, RateNote


def compare_rates(session: Session, families: Sequence[str]) -> tuple[list[RateGap], list[RateNote]]:
    """Compare the families pairwise; and list their codecs that are on no curve, with the reason."""
    submissions = newest_of_families(session, families)
    keys = [submission.id for submission in submissions]
    aggregates, datasets = category_results(session, keys), datasets_of(session, keys)
    results = [results_without_rows(entry, datasets[entry.id], aggregates[entry.id]) for entry in submissions]
    rankings = {
        category: _rankable(session, category, [
            _Entry(submission, found, part)
            for submission, found in zip(submissions, results, strict=True)
            for part in aggregates[submission.id]
            if part.category == category
        ])
        for category in CATEGORIES
    }  # fmt: skip
    sources = {entry.codec.name: source_label(entry.status, entry.sender) for entry in submissions}
    curves = curves_of(results, rankings)
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
            sources=_whose(sources, curves[found.category][found.family], curves[found.category][found.against]),
        )
        for found in compare_families(results, rankings)
    ]
    notes = [
        RateNote(category, codec, reason)
        for category, ranking in rankings.items()
        for codec, reason in ranking.unranked.items()
    ]
    return rates, [*notes, *_dominated(curves, sources)]


def _whose(sources: Mapping[str, str], *families: Sequence[RatePoint]) -> tuple[str, ...]:
    """Say on whose word the points stand that are on the curves of families."""
    return tuple(sorted({sources[point.codec] for points in families for point in rising(points)}))


def _dominated(curves: Curves, sources: Mapping[str, str]) -> Iterator[RateNote]:
    """Say of each codec below a cheaper one of its family, and so on no curve, which that is and whose."""
    for category, its in curves.items():
        for points in its.values():
            kept = rising(points)
            for point in points:
                if point not in kept:
                    above = next(each for each in kept if each.score >= point.score)
                    why = f"{above.codec} scores as high at no more bits ({sources[above.codec]})"
                    yield RateNote(category, point.codec, why)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A codec that has a category."""

    submission: Submission
    results: Results
    part: Result
    """Over all datasets of the category."""

    @property
    def sender(self) -> str:
        """Who counts once, as on the board: an account."""
        return self.submission.voter

    @property
    def nothing_failed(self) -> bool:
        """Whether no clip that was run lacks a metric of the score; where it is not complete, it was cut short."""
        behind = [of for key, of in self.part.metrics.items() if self.part.category in METRICS[key].overall]
        return all(of["n"] + of["undefined"] == self.part.clips for of in behind)


class _State(NamedTuple):
    """What must be equal for two category scores to stand on one curve."""

    datasets: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    clips: str = ""
    """Which ones; '' for all."""


def _rankable(session: Session, category: Category, entries: Sequence[_Entry]) -> Ranking:
    """Find the codecs whose category scores can stand on one curve: the same state of the same datasets.

    The state that most senders have counts, as on the board, of complete results; where there are none, of those cut
    short to the same clips. Of a family of which enough for a curve was run again, that alone counts. The ranks
    themselves are not used here.
    """
    fit = [entry for entry in entries if entry.part.score is not None and not _uncounted(entry)]
    whole = [entry for entry in fit if entry.part.complete]
    states = {
        entry.results.card.name: _state(
            category, entry, "" if whole else clips_of(session, entry.submission.id, category)
        )
        for entry in whole or [entry for entry in fit if entry.nothing_failed]
    }  # fmt: skip
    placed = [entry for entry in fit if entry.results.card.name in states]
    own_word = _own_word(placed)
    told = [(states[name], entry.sender) for entry in placed if (name := entry.results.card.name) not in own_word]
    usual = _usual(told, {states[entry.results.card.name] for entry in placed if entry.submission.status == "verified"})
    chosen, unranked = [], {}
    for entry in entries:
        name, score = entry.results.card.name, entry.part.score
        if name in own_word:
            unranked[name] = "nobody ran it again, and others of its family were"
        elif states.get(name) == usual and score is not None:
            chosen.append(Rank(name, score, rank=1, best=1, worst=len(entries)))
        else:
            unranked[name] = _reason(entry, states.get(name), usual)
    return Ranking(category, datasets=usual.datasets, clips=0, ranks=tuple(chosen), unranked=unranked)


def _usual(told: Sequence[tuple[_State, str]], run_again: Collection[_State]) -> _State:
    """Choose the state of most senders, of as many one that was run again, then that of the oldest account.

    Then of most codecs, on more datasets; in the end the state itself decides, so that every worker chooses the same.
    """
    counts = sent(told)

    def order(state: _State) -> tuple[object, ...]:
        own = counts[state]
        return -own.senders, state not in run_again, own.first, -own.found, -len(state.datasets), state

    return min(counts, key=order, default=_State())


def _own_word(entries: Sequence[_Entry]) -> set[str]:
    """Find the codecs that nobody ran again, of families of which enough were for a curve."""
    run_again = Counter(entry.results.card.family for entry in entries if entry.submission.status == "verified")
    return {
        entry.results.card.name
        for entry in entries
        if entry.submission.status != "verified" and run_again[entry.results.card.family] >= MINIMUM["pchip"]
    }


def _uncounted(entry: _Entry) -> str:
    return UNCOUNTED.get(entry.results.card.bit_source, "")


def _state(category: Category, entry: _Entry, clips: str) -> _State:
    infos = [info.info for info in entry.results.datasets if info.info.name in entry.part.datasets]
    versions = (f"{key}={entry.results.metrics.get(key)}" for key, row in METRICS.items() if category in row.overall)
    return _State(
        tuple(info.name for info in infos), tuple(info.manifest_hash for info in infos), tuple(versions), clips
    )


def _reason(entry: _Entry, own: _State | None, usual: _State) -> str:
    """Say why a codec is on no curve; ``own`` is None for one that could not be on any."""
    if own is None:
        lacking = "" if entry.part.score is not None else "has no overall score"
        return _uncounted(entry) or lacking or incomplete(entry.part.failed, entry.part.clips)
    if own.datasets != usual.datasets:
        return f"not on the datasets that most senders have: {', '.join(usual.datasets)}"
    if own.hashes != usual.hashes:
        return "on another state of a dataset than most senders have"
    if own.versions != usual.versions:
        return "scored by another version of a definition than most senders have"
    return "incomplete: run on other clips than most senders have"
