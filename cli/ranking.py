"""The ranking as a table in the terminal: one table per category, with intervals, rank ranges and the main metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from codec_superb.cli.console import print_table
from codec_superb.metrics.table import METRICS
from codec_superb.web import text

if TYPE_CHECKING:
    from codec_superb.web.rows import CodecResult

DECIMALS = 3
HEAD = ("rank", "codec", "kbps", "score", "95 % interval")


def as_data(rows: Sequence[CodecResult]) -> list[dict[str, Any]]:
    """Return the ranking as plain data for ``--json``."""
    from pydantic import TypeAdapter

    from codec_superb.web.rows import CodecResult

    found: list[dict[str, Any]] = TypeAdapter(list[CodecResult]).dump_python(list(rows), mode="json")
    return found


def print_ranking(rows: Sequence[CodecResult]) -> None:
    """Print a table for each category that has results."""
    for category in dict.fromkeys(row.summary.category for row in rows):
        chosen = [row for row in rows if row.summary.category == category]
        keys = [key for key, metric in METRICS.items() if category in metric.overall and key in _measured(chosen)]
        arrows = [f"{key} {'↑' if METRICS[key].higher_is_better else '↓'}" for key in keys]
        head = (*HEAD, *arrows, "clips")
        print_table(_title(chosen), head, [_cells(row, keys) for row in chosen], numbers_from=2, spare=arrows)
        print()
    if not all(row.summary.complete for row in rows):
        print("incomplete: clips or metrics failed, or not all clips of the dataset were run\n")


def _measured(rows: Sequence[CodecResult]) -> set[str]:
    return {key for row in rows for key in row.summary.metrics}


def _title(rows: Sequence[CodecResult]) -> str:
    datasets = ", ".join(dict.fromkeys(name for row in rows for name in row.summary.datasets))
    return f"{rows[0].summary.category} ({datasets}, {text.count(max(row.summary.clips for row in rows), 'clip')})"


def _cells(row: CodecResult, keys: Sequence[str]) -> tuple[str, ...]:
    summary = row.summary
    marks = (" lossless" if row.lossless else "") + ("" if summary.complete else " incomplete")
    score, clips = summary.score, f"{summary.ok}/{summary.clips}"
    estimates = (summary.metrics.get(key) for key in keys)
    numbers = (text.number(None if found is None else found.mean, DECIMALS) for found in estimates)
    value, ends = text.number(score.value, DECIMALS), text.interval(score.low, score.high, DECIMALS)
    return (text.rank(row.rank), row.codec + marks, text.kbps(row.kbps), value, ends, *numbers, clips)
