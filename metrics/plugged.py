"""Metrics by name wherever they come from: the table, an installed distribution, or ``path/to/file.py:NAME``.

A plug-in's metric is computed like any other and shown beside the others. It is never computed unless it is asked for,
and never part of an overall score or a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable

from codec_superb.metrics.errors import UnknownMetric
from codec_superb.metrics.table import METRICS, Metric
from codec_superb.plugins import by_name, is_file_name, row_from_file, row_of, rows_of, taken

GROUP = "codec_superb.metrics"


def find_metric(name: str) -> Metric:
    """Return the row of a key, or of ``path/to/file.py:NAME``; the function behind it is not imported.

    Raises UnknownMetric with near matches, PluginError for a plug-in that cannot be loaded or whose key is taken.
    """
    if is_file_name(name):
        row = row_from_file(name, Metric)
        if row.key in METRICS:
            raise taken(row.key, METRICS[row.key].target, row.target)
        return row
    others = by_name(GROUP, _own())
    if name in METRICS:
        return METRICS[name]
    if name in others:
        return row_of(others[name], Metric)
    raise UnknownMetric(name, {*METRICS, *others})


def find_metrics(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return the rows of ``names`` in their order, each once; errors as :func:`find_metric`."""
    found: dict[str, Metric] = {}
    for row in map(find_metric, names):
        if found.setdefault(row.key, row) != row:
            raise taken(row.key, found[row.key].target, row.target)
    return tuple(found.values())


def known_metrics() -> dict[str, Metric]:
    """Return the table and what installed distributions add, by key; one that cannot be loaded is reported once."""
    return METRICS | rows_of(GROUP, Metric, _own())


def _own() -> dict[str, str]:
    return {key: row.target for key, row in METRICS.items()}
