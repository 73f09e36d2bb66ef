"""The ranking as a table in the terminal: one block a category, with intervals, rank ranges and the main metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from codec_superb.cli.console import counted, print_table
from codec_superb.metrics.table import METRICS

if TYPE_CHECKING:
    from codec_superb.web.report_data import CodecResult, Estimate

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
    return f"{rows[0].category} ({datasets}, {counted(max(row.clips for row in rows), 'clip')})"


def _cells(row: CodecResult, keys: Sequence[str]) -> tuple[str, ...]:
    rank = "–" if row.rank is None else _span(*row.rank)
    marks = (" lossless" if row.lossless else "") + ("" if row.complete else " incomplete")
    clips = f"{row.clips - row.failed}/{row.clips}"
    kbps = f"{row.kbps:.2f}" if math.isfinite(row.kbps) else "–"
    return (rank, row.codec + marks, kbps, _number(row.score), _interval(row.score),
            *(_number(row.metrics[key]) if key in row.metrics else "–" for key in keys), clips)  # fmt: skip


def _span(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best}–{worst}"


def _number(estimate: Estimate) -> str:
    return "–" if estimate.value is None else f"{estimate.value:.3f}"


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None or estimate.high is None else f"[{estimate.low:.3f}, {estimate.high:.3f}]"
