"""Which codecs are ranked together, and in which cells: the datasets of each category, the applications."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

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
    shown = {entry.codec: entry for found in reversed([*ranked.values()]) for entry in found.frame.entries}
    chosen, unranked = [], []
    for standing in snapshot.entries(source):
        entry = shown.get(standing.codec, standing)
        rate = _rate(entry, {ASPECTS[name].category for name in aspects})
        if not _within(rate, band):
            continue
        reason = _reason(entry, ranked, places)
        if reason:
            unranked.append(UnrankedCodec(entry.codec, reason))
        else:
            chosen.append((_by_its_figures(entry, aspects), rate))
    entries = tuple(entry for entry, _ in chosen)
    cells = [cell for name in aspects for cell in _cells(snapshot, source, name, ranked[name], entries)]
    datasets = {name: found.datasets for name, found in ranked.items()}
    rivals = [f"verified:{entry.codec}" if entry.source == "verified" else entry.sender for entry in entries]
    each = Counter(rivals)
    votes = tuple(Fraction(1, each[rival]) for rival in rivals)
    return Field(entries, [rate for _, rate in chosen], tuple(cells), votes, datasets, tuple(unranked))


def _by_its_figures(entry: BoardEntry, aspects: Sequence[str]) -> BoardEntry:
    """Return it as its account's word where its badge does not cover a figure of an application that is weighed."""
    weighed = [ASPECTS[name] for name in aspects if ASPECTS[name].quantity != SCORE_KEY]
    figures = [entry.application(of.quantity, of.category, "") for of in weighed]
    if all(row is None or row.run_again for row in figures):
        return entry
    return replace(entry, source="self-reported", source_label=own_word_label(entry.submitter))


def _ranked(snapshot: Snapshot, source: ShownSource, aspect: str) -> Ranked:
    of = ASPECTS[aspect]
    return rank(snapshot, BoardState(category=of.category, metric=of.quantity, source=source))


def _rate(entry: BoardEntry, categories: Collection[Category]) -> float:
    """All bits over all seconds of what is ranked, in kbps: few bits on music make no few bits on speech."""
    parts = [entry.figures[category, ""] for category in categories if (category, "") in entry.figures]
    known = [(part.kbps, part.seconds) for part in parts if part.kbps is not None and part.seconds > 0]
    seconds = math.fsum(length for _, length in known)
    return math.fsum(kbps * length for kbps, length in known) / seconds if seconds else math.nan


def _within(rate: float, band: str) -> bool:
    own = band_of(rate)
    return not band or (own is not None and own.key == band)


def _reason(entry: BoardEntry, ranked: Mapping[str, Ranked], places: Mapping[str, Mapping[str, int]]) -> str:
    if entry.lossless:
        return "lossless: it is the best by definition, at a rate that follows from the sound"
    for name, found in ranked.items():
        place = places[name].get(entry.codec)
        label = ASPECTS[name].label
        if place is None:
            return f"{label}: no results"
        if not found.best[place]:
            return f"{label}: {reason_without_rank(found, place)}"
        category = ASPECTS[name].category
        if ASPECTS[name].quantity == SCORE_KEY and not all(
            _has_score(entry, category, each) for each in found.datasets
        ):
            return f"{label}: no score on one of its datasets"
    return ""


def _has_score(entry: BoardEntry, category: Category, dataset: str) -> bool:
    return (category, dataset) in entry.figures and entry.figures[category, dataset].score[0] is not None


def _cells(
    snapshot: Snapshot, source: ShownSource, aspect: str, ranked: Ranked, entries: Sequence[BoardEntry]
) -> list[Cell]:
    of = ASPECTS[aspect]
    if of.quantity != SCORE_KEY:
        return [_cell(aspect, "", ranked.frame, entries)]
    return [
        _cell(aspect, name, snapshot.frame(of.category, name, source, of.quantity), entries) for name in ranked.datasets
    ]  # fmt: skip


def _cell(aspect: str, dataset: str, frame: ResultFrame, entries: Sequence[BoardEntry]) -> Cell:
    of = ASPECTS[aspect]
    places = {entry.codec: number for number, entry in enumerate(frame.entries)}
    mine = np.array([places[entry.codec] for entry in entries], np.intp)
    low, high = frame.ends(of.quantity)
    better = quantity_of(of.quantity).higher_is_better
    return Cell(aspect, dataset, of.category, frame.numbers(of.quantity)[mine], low[mine], high[mine], better)
