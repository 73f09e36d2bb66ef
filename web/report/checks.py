"""Consistency checks of report data before the page is rendered; each error names the row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import isfinite

from codec_superb.applications.errors import UnknownApplication
from codec_superb.metrics.table import Metric
from codec_superb.web.applications import application_of
from codec_superb.web.errors import ReportError
from codec_superb.web.rows import CodecResult, ReportData


def check(data: ReportData, table: Mapping[str, Metric]) -> None:
    """Raise :class:`ReportError` unless the data fit each other, the metric table and JSON."""
    if not data.results:
        raise ReportError("a report needs the result of at least one codec, got none: score a run first")
    repeated = [pair for pair, n in Counter((row.codec, row.summary.category) for row in data.results).items() if n > 1]
    if repeated:
        codec, category = repeated[0]
        raise ReportError(f"codec {codec!r} comes twice in category {category!r}: give each codec one result")
    for row in data.results:
        _check_result(row, table)
    known = {(row.codec, row.summary.category) for row in data.results}
    for point in data.clips:
        where = f"clip {point.clip!r} of {point.codec!r}"
        if (point.codec, point.category) not in known:
            raise ReportError(f"{where} has no result in category {point.category!r}: give the results of all clips")
        _check_keys(point.metrics, table, where)
        _check_finite(point.metrics.values(), where)
    _check_applications(data)


def _check_applications(data: ReportData) -> None:
    codecs = {row.codec for row in data.results}
    seen = set()
    for row in data.applications:
        where = f"{row.numbers.figure} of {row.codec!r} on {row.numbers.dataset or 'all datasets'}"
        if row.codec not in codecs:
            raise ReportError(f"{where} has no result in any category: score the run too")
        try:
            application_of(row.numbers.figure)
        except UnknownApplication as error:
            raise ReportError(f"{where}: the table of applications lacks it: {error}") from error
        key = (row.codec, row.numbers.figure, row.numbers.dataset, row.model)
        if key in seen:
            raise ReportError(f"{where} comes twice with {row.model.name}: give it once")
        seen.add(key)


def _check_result(row: CodecResult, table: Mapping[str, Metric]) -> None:
    _check_keys(row.summary.metrics, table, f"codec {row.codec!r} in {row.summary.category!r}")


def _check_keys(metrics: Mapping[str, object], table: Mapping[str, Metric], where: str) -> None:
    for key in metrics:
        if key not in table:
            raise ReportError(f"{where} has metric {key!r}, which the metric table lacks; it knows {', '.join(table)}")


def _check_finite(values: Iterable[float], where: str) -> None:
    for value in values:
        if not isfinite(value):
            raise ReportError(f"{where} has the value {value}, expected a finite number: leave undefined values out")
