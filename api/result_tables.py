"""Rows of a result: for its table in a notebook and a terminal, and for pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import Any

from codec_superb.api.rendering import Cell, Table
from codec_superb.applications.table import COMPOSITES, PROBE_METRICS
from codec_superb.base_codec.card import Card
from codec_superb.cli.application_matrix import as_data
from codec_superb.metrics.results import Estimate, ResultSummary
from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.aggregates.summary import summarise
from codec_superb.pipeline.comparison.results import Results
from codec_superb.web import text
from codec_superb.web.quantity import from_metric

Row = dict[str, Any]
_Summaries = list[tuple[Results, ResultSummary]]


def _summaries(entries: Iterable[Results]) -> _Summaries:
    return [(entry, summarise(entry.aggregates, of)) for entry in entries for of in entry.aggregates.categories]


def codec_rows(entries: Sequence[Results]) -> list[Row]:
    """Return a row for each codec, condition and category; a value that is not known is None."""
    rows = []
    for entry, summary in _summaries(entries):
        row: Row = {
            "codec": entry.card.name,
            "condition": entry.condition.name if entry.condition else "",
            "category": summary.category,
            "datasets": ", ".join(summary.datasets),
            "kbps": summary.kbps,
            "bit_source": entry.card.bit_source,
            "score": summary.score.value,
            "score_low": summary.score.low,
            "score_high": summary.score.high,
        }
        for key, of in summary.metrics.items():
            row |= {key: of.mean, f"{key}_low": of.low, f"{key}_high": of.high, f"{key}_n": of.n}
        counts = {"clips": summary.clips, "failed": summary.failed, "complete": summary.complete}
        rows.append(row | counts | {"encode_rtf": summary.encode_rtf, "decode_rtf": summary.decode_rtf})
    return rows


def clip_rows(entries: Sequence[Results]) -> list[Row]:
    """Return a row for each clip through each codec."""
    return [
        {
            "codec": entry.card.name,
            "condition": entry.condition.name if entry.condition else "",
            "dataset": row.dataset,
            "clip": row.clip,
            "category": row.category,
            "status": row.status,
            "seconds": row.seconds,
            "kbps": row.kbps,
            "lag_samples": row.lag_samples,
            **{key: row.metrics[key].value if key in row.metrics else None for key in entry.metrics},
            "error": row.error,
        }
        for entry in entries
        for row in entry.rows
    ]


def application_rows(entries: Sequence[Results]) -> list[Row]:
    """Return a row for each codec, dataset and figure of an application: on the originals and on the resyntheses."""
    return as_data(entries)


def tables(entries: Sequence[Results]) -> list[Table]:
    """Return a table for each category, best score first, and one for the figures of applications."""
    found = [_category_table(category, entries) for category in CATEGORIES]
    return [table for table in (*found, _application_table(entries)) if table is not None and table.rows]


def _category_table(category: str, entries: Sequence[Results]) -> Table | None:
    chosen = [(entry, summary) for entry, summary in _summaries(entries) if summary.category == category]
    if not chosen:
        return None
    chosen.sort(key=lambda one: (one[1].score.value is None, -(one[1].score.value or 0.0), one[0].title))
    known = {key: row for entry, _ in chosen for key, row in entry.table().items()}
    keys = [key for key in known if any(key in summary.metrics for _, summary in chosen)]
    scored = any(summary.score.value is not None for _, summary in chosen)
    heads = [f"{key} {'↑' if known[key].higher_is_better else '↓'}" for key in keys]
    columns = ("codec", "kbps", *(["score"] if scored else []), *heads, "clips")
    rows = tuple(
        (
            _mark(entry, summary), _rate(entry.card, summary.kbps),
            *([(text.number(summary.score.value, 3), text.interval(summary.score.low, summary.score.high, 3))]
              if scored else []),
            *(_estimate(summary.metrics.get(key), from_metric(known[key]).decimals) for key in keys),
            (f"{summary.ok}/{summary.clips}", ""),
        )
        for entry, summary in chosen
    )  # fmt: skip
    names = ", ".join(dict.fromkeys(name for _, summary in chosen for name in summary.datasets))
    return Table(f"{category} ({names})", columns, rows, quiet=tuple(heads))


def _mark(entry: Results, summary: ResultSummary) -> Cell:
    marks = ["lossless"] if entry.card.kind == "lossless" else []
    if summary.failed or any(of.failed for of in summary.metrics.values()):
        marks.append("incomplete")
    elif not summary.complete:
        marks.append("sample")  # of the dataset: --limit
    return entry.title, ", ".join(marks)


def _rate(card: Card, kbps: float | None) -> Cell:
    if card.bit_source == "unknown":
        return "not stated", ""
    return text.kbps(nan if kbps is None else kbps), "declared" if card.bit_source == "declared" else ""


def _estimate(of: Estimate | None, decimals: int) -> Cell:
    return (
        (text.MISSING, "") if of is None else (text.number(of.mean, decimals), text.interval(of.low, of.high, decimals))
    )


def _application_table(entries: Sequence[Results]) -> Table | None:
    """Return the figures of applications: a row for each, the originals beside the codecs."""
    data = as_data(entries)
    if not data:
        return None
    codecs = list(dict.fromkeys(entry["codec"] for entry in data))
    places = dict.fromkeys((entry["dataset"], entry["figure"], entry["backend"]) for entry in data)
    rows = []
    for place in places:
        its = {e["codec"]: e for e in data if (e["dataset"], e["figure"], e["backend"]) == place}
        figure = PROBE_METRICS[place[1]] if place[1] in PROBE_METRICS else COMPOSITES[place[1]]
        head = f"{place[1]} {'↑' if figure.higher_is_better else '↓'}"
        numbers = [next(iter(its.values()))["reference"], *(its[c]["value"] if c in its else None for c in codecs)]
        cells = [(text.number(number, figure.decimals), "") for number in numbers]
        rows.append(((head, place[2]), (place[0] or "all", ""), *cells))
    return Table("applications", ("", "dataset", "(original)", *codecs), tuple(rows), words=2)
