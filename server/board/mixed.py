"""Submissions and published figures side by side: a configuration that both have is one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from codec_superb.metrics.table import Category
from codec_superb.pipeline.literature.tables import literature, published_as
from codec_superb.server.board.entries import BoardEntry
from codec_superb.web.quantity import SCORE
from codec_superb.web.rows import ApplicationRow


def united(entries: Sequence[BoardEntry], category: Category, dataset: str) -> list[BoardEntry]:
    """Leave out published entries whose configuration a submission has in the category, over all ('') or on a dataset.

    The submission's entry names them with their scores. It takes over their applications that it lacks, which say by
    whom they were published.
    """
    place = (category, dataset)
    published = {entry.codec: entry for entry in entries if entry.submission is None and place in entry.figures}
    found: list[BoardEntry] = []
    for entry in entries:
        if entry.submission is None or place not in entry.figures:
            continue
        # a few clips under a name of the catalogue, which is nobody's, take no paper's place
        names = _same(entry.codec, entry.family) if entry.figures[place].complete else []
        same = [published.pop(key) for key in names if key in published]
        found.append(_with(entry, same, category, dataset) if same else entry)
    return [*found, *published.values()]


@cache
def _listed() -> frozenset[str]:
    """Names of the catalogue's codecs that some table has."""
    return frozenset(name for table in literature() for codec in table.codecs for name in codec.runs_as)


def _same(codec: str, family: str) -> list[str]:
    """Names of the entries of tables that are a codec's configuration."""
    if codec not in _listed():
        return []
    return [f"{table.name}:{row.id}" for table, row in published_as(codec, family)]


def _with(entry: BoardEntry, same: Sequence[BoardEntry], category: Category, dataset: str) -> BoardEntry:
    applications: dict[str, Mapping[str, ApplicationRow]] = dict(entry.applications)
    for other in reversed(same):  # of two tables the first counts
        for name, figures in other.applications.items():
            applications[name] = {**figures, **applications.get(name, {})}
    return replace(entry, applications=applications, also=tuple(_said(each, category, dataset) for each in same))


def _said(entry: BoardEntry, category: Category, dataset: str) -> str:
    score = entry.figures[category, dataset].score[0]
    return entry.source_label if score is None else f"{SCORE.write(score)} ({entry.source_label})"
