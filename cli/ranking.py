"""The ranking as a table in the terminal: one table per category, with intervals, rank ranges and the main metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from codec_superb.cli.console import print_table
from codec_superb.metrics.table import METRICS
from codec_superb.web import text

if TYPE_CHECKING:
    from codec_superb.web.rows import CodecResult, Estimate

DECIMALS = 3
HEAD = ("rank", "codec", "kbps", "score", "95 % interval")


def as_data(rows: Sequence[CodecResult]) -> list[dict[str, Any]]:
    """Return the ranking as plain data for ``--json``."""
    return [{**asdict(row), "kbps": row.kbps if math.isfinite(row.kbps) else None} for row in rows]


def print_ranking(rows: Sequence[CodecResult]) -> None:
    """Print a table for each category that has results."""
    for category in dict.fromkeys(row.category for row in rows):
        chosen = [row for row in rows if row.category == category]
        keys = [key for key, metric in METRICS.items() if category in metric.overall and key in _measured(chosen)]
        arrows = [f"{key} {'↑' if METRICS[key].higher_is_better else '↓'}" for key in keys]
        head = (*HEAD, *arrows, "clips")
        print_table(_title(chosen), head, [_cells(row, keys) for row in chosen], numbers_from=2, spare=arrows)
        print()
    if not all(row.complete for row in rows):
        print("incomplete: clips or metrics failed, or not all clips of the dataset were run\n")


def _measured(rows: Sequence[CodecResult]) -> set[str]:
    return {key for row in rows for key in row.metrics}


def _title(rows: Sequence[CodecResult]) -> str:
    datasets = ", ".join(dict.fromkeys(name for row in rows for name in row.datasets))
    return f"{rows[0].category} ({datasets}, {text.count(max(row.clips for row in rows), 'clip')})"


def _cells(row: CodecResult, keys: Sequence[str]) -> tuple[str, ...]:
    marks = (" lossless" if row.lossless else "") + ("" if row.complete else " incomplete")
    score, clips = row.score, f"{row.clips - row.failed}/{row.clips}"
    metrics = (_number(row.metrics.get(key)) for key in keys)
    ends = text.interval(score.low, score.high, DECIMALS)
    return (text.rank(row.rank), row.codec + marks, text.kbps(row.kbps), _number(score), ends, *metrics, clips)


def _number(estimate: Estimate | None) -> str:
    return text.number(None if estimate is None else estimate.value, DECIMALS)
