"""Which codecs are ranked together, and in which cells: the datasets of each category, the applications."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from codec_superb.metrics.table import Category
from codec_superb.pipeline.statistics.jackknife import Floats
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.frames import ResultFrame
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.leaderboard.select import Ranked, quantity_of, rank, reason_without_rank
from codec_superb.server.ranking.bands import band_of
from codec_superb.server.ranking.weights import ASPECTS
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.rows import own_word_label
from codec_superb.web.site.board.choices import BoardState
from codec_superb.web.site.ranking.view import UnrankedCodec
from codec_superb.web.site.whose import ShownSource


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure that every ranked codec has."""

    aspect: str
    dataset: str
    """'' for an application, which has one figure."""
    category: Category
    submissions: Sequence[str]
    """Whose figure it is, of each codec."""
    clips: int
    """Of the one that has most."""
    values: Floats
    """Shape ``(codecs,)``."""
    low: Floats
    high: Floats
    higher_is_better: bool


@dataclass(frozen=True, slots=True)
class Field:
    """The codecs of one ranking."""

    entries: tuple[BoardEntry, ...]
    """By name."""
    rates: Sequence[float]
    """Kbps of each over all of its clips of the categories that are ranked; NaN where it is not known."""
    cells: tuple[Cell, ...]
    votes: tuple[Fraction, ...]
    """How much each counts as one that others beat: all self-reported ones of an account together as one codec."""
    datasets: Mapping[str, tuple[str, ...]]
    """What each aspect rests on."""
    unranked: tuple[UnrankedCodec, ...]


def field(snapshot: Snapshot, source: ShownSource, band: str, aspects: Sequence[str]) -> Field:
    """Choose the codecs that the board ranks in each of ``aspects``, so that all have every cell (rule 7).

    Codecs of another bitrate band than ``band`` ('' for all) are no part of it and not listed.
    """
    ranked = {name: _ranked(snapshot, source, name) for name in aspects}
    places = {name: {e.codec: n for n, e in enumerate(found.frame.entries)} for name, found in ranked.items()}
    chosen, unranked = [], []
    for standing in snapshot.entries(source):
        own = {
            name: ranked[name].frame.entries[place]
            for name in aspects if (place := places[name].get(standing.codec)) is not None
        }  # fmt: skip
        rate = _rate({ASPECTS[name].category: own[name] for name in reversed(own)})
        if not _within(rate, band):
            continue
        reason = _reason(standing, ranked, places)
        if reason:
            unranked.append(UnrankedCodec(standing.codec, reason))
        else:
            chosen.append((own, rate))
    entries = tuple(_by_its_figures(own) for own, _ in chosen)
    cells = [cell for name in aspects for cell in _cells(name, ranked[name], [own[name] for own, _ in chosen])]
    datasets = {name: found.datasets for name, found in ranked.items()}
    rivals = [f"verified:{entry.codec}" if entry.source == "verified" else entry.sender for entry in entries]
    each = Counter(rivals)
    votes = tuple(Fraction(1, each[rival]) for rival in rivals)
    return Field(entries, [rate for _, rate in chosen], tuple(cells), votes, datasets, tuple(unranked))


def _by_its_figures(own: Mapping[str, BoardEntry]) -> BoardEntry:
    """Choose the result that stands for a codec: by its account's word, where no badge covers a figure that is weighed.

    ``own`` are those behind its figures, by aspect.
    """
    for name, entry in own.items():
        of = ASPECTS[name]
        row = None if of.quantity == SCORE_KEY else entry.application(of.quantity, of.category, "")
        if entry.source != "verified":
            return entry
        if row is not None and not row.run_again:
            return replace(entry, source="self-reported", source_label=own_word_label(entry.submitter))
    return next(iter(own.values()))


def _ranked(snapshot: Snapshot, source: ShownSource, aspect: str) -> Ranked:
    of = ASPECTS[aspect]
    return rank(snapshot, BoardState(category=of.category, metric=of.quantity, source=source))


def _rate(own: Mapping[Category, BoardEntry]) -> float:
    """All bits over all seconds of what is ranked, in kbps: few bits on music make no few bits on speech."""
    parts = [entry.figures[category, ""] for category, entry in own.items()]
    known = [(part.kbps, part.seconds) for part in parts if part.kbps is not None and part.seconds > 0]
    seconds = math.fsum(length for _, length in known)
    return math.fsum(kbps * length for kbps, length in known) / seconds if seconds else math.nan


def _within(rate: float, band: str) -> bool:
    own = band_of(rate)
    return not band or (own is not None and own.key == band)


def _reason(standing: BoardEntry, ranked: Mapping[str, Ranked], places: Mapping[str, Mapping[str, int]]) -> str:
    if standing.lossless:
        return "lossless: it is the best by definition, at a rate that follows from the sound"
    for name, found in ranked.items():
        place = places[name].get(standing.codec)
        label = ASPECTS[name].label
        if place is None:
            return f"{label}: no results"
        if not found.best[place]:
            return f"{label}: {reason_without_rank(found, place)}"
        category = ASPECTS[name].category
        if ASPECTS[name].quantity == SCORE_KEY and not all(
            _has_score(found.frame.entries[place], category, each) for each in found.datasets
        ):
            return f"{label}: no score on one of its datasets"
    return ""


def _has_score(entry: BoardEntry, category: Category, dataset: str) -> bool:
    return (category, dataset) in entry.figures and entry.figures[category, dataset].score[0] is not None


def _cells(aspect: str, ranked: Ranked, entries: Sequence[BoardEntry]) -> list[Cell]:
    """Make the cells of an aspect from the very results that it ranks."""
    datasets = ranked.datasets if ASPECTS[aspect].quantity == SCORE_KEY else ("",)
    return [_cell(aspect, name, entries) for name in datasets]


def _cell(aspect: str, dataset: str, entries: Sequence[BoardEntry]) -> Cell:
    of = ASPECTS[aspect]
    frame = ResultFrame(of.category, dataset, entries)
    low, high = frame.ends(of.quantity)
    better = quantity_of(of.quantity).higher_is_better
    submissions = [entry.submission or "" for entry in entries]
    clips = max((own.clips for own in frame.figures), default=0)
    return Cell(aspect, dataset, of.category, submissions, clips, frame.numbers(of.quantity), low, high, better)
