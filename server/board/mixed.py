"""Submissions and published figures side by side: a configuration that several of them have is one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from codec_superb.metrics.table import Category
from codec_superb.pipeline.literature.tables import literature, published_as
from codec_superb.server.board.entries import BoardEntry, CodecFigures
from codec_superb.web.quantity import SCORE
from codec_superb.web.rows import ApplicationRow


def united(entries: Sequence[BoardEntry], category: Category, dataset: str) -> list[BoardEntry]:
    """Leave out published entries whose configuration a submission has in the category, over all ('') or on a dataset.

    The submission's entry names them with their scores. It takes over their applications that it lacks, which say by
    whom they were published. Of published ones alone that are one configuration the entry with the most values is left.
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
    groups: dict[str, list[BoardEntry]] = {}
    for key, entry in published.items():
        groups.setdefault(_configurations().get(key, key), []).append(entry)
    return [*found, *(_fullest(group, category, dataset) for group in groups.values())]


@cache
def _configurations() -> dict[str, str]:
    """Name what entries of tables run as here, the same for the same configuration."""
    return {f"{table.name}:{row.id}": row.runs_as[0] for table in literature() for row in table.codecs if row.runs_as}


@cache
def _listed() -> frozenset[str]:
    """Names of the catalogue's codecs that some table has."""
    return frozenset(name for table in literature() for codec in table.codecs for name in codec.runs_as)


def _same(codec: str, family: str) -> list[str]:
    """Names of the entries of tables that are a codec's configuration."""
    if codec not in _listed():
        return []
    return [f"{table.name}:{row.id}" for table, row in published_as(codec, family)]


def _fullest(same: Sequence[BoardEntry], category: Category, dataset: str) -> BoardEntry:
    """Return the entry with the most values; it takes over applications and bitrate that it lacks from the others."""
    place = (category, dataset)
    kept = max(same, key=lambda entry: _values(entry.figures[place]))  # of as many the first table counts
    others = [entry for entry in same if entry is not kept]
    if not others:
        return kept
    rate = next((each.figures[place].kbps for each in (kept, *others) if each.figures[place].kbps is not None), None)
    figures = {**kept.figures, place: kept.figures[place]._replace(kbps=rate)}
    return _with(replace(kept, figures=figures, nominal_kbps=rate), others, category, dataset)


def _values(figures: CodecFigures) -> int:
    return len(figures.metrics) + (figures.score[0] is not None)


def _with(entry: BoardEntry, same: Sequence[BoardEntry], category: Category, dataset: str) -> BoardEntry:
    applications: dict[str, Mapping[str, ApplicationRow]] = dict(entry.applications)
    for other in reversed(same):  # of two tables the first counts
        for name, figures in other.applications.items():
            applications[name] = {**figures, **applications.get(name, {})}
    return replace(entry, applications=applications, also=tuple(_said(each, category, dataset) for each in same))


def _said(entry: BoardEntry, category: Category, dataset: str) -> str:
    score = entry.figures[category, dataset].score[0]
    return entry.source_label if score is None else f"{SCORE.write(score)} ({entry.source_label})"
