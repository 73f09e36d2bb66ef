"""Metrics by name wherever they come from: the table, an installed distribution, or ``path/to/file.py:NAME``.

A plug-in's metric is computed like any other and shown beside the others. It is never computed unless it is asked for,
and never part of an overall score or a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable

from codec_superb.metrics.errors import UnknownMetric
from codec_superb.metrics.table import METRICS, Metric
from codec_superb.plugins import find, names, rows_of, taken, targets

GROUP = "codec_superb.metrics"


def find_metric(name: str) -> Metric:
    """Return the row of a key, or of ``path/to/file.py:NAME``; the function behind it is not imported.

    Raises UnknownMetric with near matches, PluginError for a plug-in that cannot be loaded or whose key is taken.
    """
    row = find(name, GROUP, Metric, METRICS)
    if row is None:
        raise UnknownMetric(name, names(GROUP, METRICS))
    return row


def find_metrics(keys: Iterable[str]) -> tuple[Metric, ...]:
    """Return the rows of ``keys`` in their order, each once; errors as :func:`find_metric`."""
    found: dict[str, Metric] = {}
    for row in map(find_metric, keys):
        if found.setdefault(row.key, row) != row:
            raise taken(row.key, found[row.key].target, row.target)
    return tuple(found.values())


def known_metrics() -> dict[str, Metric]:
    """Return the table and what installed distributions add, by key; one that cannot be loaded is reported once."""
    return METRICS | rows_of(GROUP, Metric, targets(METRICS))
