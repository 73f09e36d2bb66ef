"""``codec-superb metrics``: what can be computed on a pair, from the table and from installed distributions."""

from __future__ import annotations

from typing import Any

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption

app = typer.Typer(help="List metrics.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """List metrics."""


@app.command("list")
def list_metrics(as_json: JsonOption = False) -> None:
    """List every metric: direction, range, when it is computed, definition, and the distribution it comes from."""
    from codec_superb.metrics.plugged import known_metrics
    from codec_superb.metrics.table import Metric

    def when(row: Metric) -> str:
        kinds = "on request" if not row.default else f"by default on {', '.join(row.categories)}"
        return f"{kinds}; overall score of {', '.join(row.overall)}" if row.overall else kinds

    rows = list(known_metrics().values())
    if as_json:
        print_json([_as_data(row) for row in rows])
        return
    cells = [
        (row.key, f"{row.label}{f' ({row.unit})' if row.unit else ''} {'↑' if row.higher_is_better else '↓'}",
         when(row), row.version, row.origin, row.definition)
        for row in rows
    ]  # fmt: skip
    head = ("metric", "title", "computed", "version", "from", "definition")
    print_table("", head, cells, numbers_from=len(head), folds=True)


def _as_data(row: Any) -> dict[str, Any]:
    from math import isfinite

    plain = ("key", "label", "unit", "higher_is_better", "default", "version", "definition", "paper", "extra", "origin")
    limits = {name: value if isfinite(value := getattr(row, name)) else None for name in ("minimum", "maximum")}
    return {name: getattr(row, name) for name in plain} | limits | {
        "overall": list(row.overall), "categories": list(row.categories),
        "backends": [name for name, _ in row.backends],
    }  # fmt: skip
