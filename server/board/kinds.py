"""What results of one score, metric or application rest on, and on what those rest that are ranked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from codec_superb.metrics.table import Category
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.published import published_entry
from codec_superb.web.answered import Answered, most_answered
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.senders import largest, sent, sizes

States = tuple[tuple[str, str], ...]
"""Datasets, each with its state."""
Kind = tuple[States, Hashable]
"""Datasets by name, and the versions of the definitions behind a score or metric, or the model that answered."""


def kind_of(entry: BoardEntry, category: Category, dataset: str, key: str) -> Kind:
    """Return what the value of ``key`` rests on, over all datasets ('') or on one; the entry has figures there."""
    figures = entry.figures[category, dataset]
    if key not in APPLICATIONS:
        rests_on = tuple(sorted(zip(figures.datasets, figures.states, strict=True)))
        return rests_on, entry.definitions_behind(key, category)
    row = entry.application(key, category, dataset)
    if row is None:
        return (), None
    if row.codec != entry.codec:  # taken over from a table: it rests on the table's datasets
        figures = published_entry(row.codec).figures[category, dataset]
    states = dict(zip(figures.datasets, figures.states, strict=True))
    names = (row.numbers.dataset,) if row.numbers.dataset else figures.datasets
    return tuple(sorted((name, states.get(name, "")) for name in names)), row.model


def in_words(kind: Kind) -> str:
    """Write a kind, by which ties are broken: of a score or a metric as a chart's front has it (``On``)."""
    rests_on, by = kind
    names = tuple(name for name, _ in rests_on)
    return str((names, (*(state for _, state in rests_on), *by))) if isinstance(by, tuple) else str([*names])


def is_fit(entry: BoardEntry, category: Category, dataset: str) -> bool:
    """Whether it may have a rank: complete, at bits that were counted."""
    return entry.counted and entry.figures[category, dataset].complete


def usual_kind(told: Iterable[tuple[Kind, BoardEntry]], category: Category, dataset: str, key: str) -> Kind | None:
    """Choose what results rest on that are ranked, among the fit ones of those with a value; None where there is none.

    ``told`` may hold several entries of a codec, which counts for each kind that it has: no true run on other datasets
    makes those of others fewer. What most senders have, of as many what the oldest account has, then that of most
    codecs; where all were run again :func:`largest` chooses.
    """
    fit = [(kind, entry) for kind, entry in told if is_fit(entry, category, dataset)]
    if not fit:
        return None
    if key in APPLICATIONS:
        return most_answered(_answered(kind, entry, category, dataset, key) for kind, entry in fit)
    counts = sent((kind, entry.sender) for kind, entry in fit)
    codecs = Counter(kind for kind, _ in {(kind, entry.codec) for kind, entry in fit})

    def order(kind: Kind) -> tuple[object, ...]:
        return counts[kind].first, -codecs[kind], -len(kind[0]), in_words(kind)

    if all(entry.source == "verified" for _, entry in fit):
        return largest(sizes((kind, entry.sender, entry.codec) for kind, entry in fit), order)
    return min(counts, key=lambda kind: (-counts[kind].senders, *order(kind)))


def _answered(kind: Kind, entry: BoardEntry, category: Category, dataset: str, key: str) -> Answered[Kind]:
    row = entry.application(key, category, dataset)
    confirmed = entry.source == "verified" and row is not None and row.run_again is True
    return Answered(kind, entry.sender, confirmed, entry.received, entry.codec)
