"""The rows of the board as CSV and Parquet: exactly what the filters leave, all pages, in the order shown.

One row a codec, one column a number; an estimate ``K`` is ``K``, ``K_low``, ``K_high``, ``K_n``, ``K_undefined`` and
``K_failed``. A figure ``K`` of an application is ``K``, ``K_low``, ``K_high``, ``K_n``, ``K_failed``, ``K_left_out``,
``K_reference``, ``K_loss``, ``K_model`` and ``K_model_sha256``. What was chosen and the revision stand in Parquet's
metadata and in the first line of the CSV, which begins with ``#`` (``pandas.read_csv(file, skiprows=1)``).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from codec_superb.metrics.table import METRICS
from codec_superb.server.http.spreadsheets import escape_formula
from codec_superb.server.leaderboard.answers import row_answer
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.site.board.choices import BoardView, to_query

_PARTS = ("low", "high", "n", "undefined", "failed")
_WHOLE = frozenset({
    "sampling_rate", "rank_best", "rank_worst", "clips", "failed", "undefined", "largest_lag", "clipped_samples",
})  # fmt: skip
_COUNTS = ("n", "undefined", "failed", "left_out")
_YES_OR_NO = frozenset({"open_weights", "causal", "lossless", "complete"})
_TEXTS = frozenset({
    "codec", "title", "family", "category", "source", "source_label", "source_url", "submission", "received",
    "submitter", "kind", "unranked", "datasets",
})  # fmt: skip


def flat_rows(view: BoardView) -> list[dict[str, Any]]:
    """Make one flat row a codec; every row has the same columns, those that no codec has a value in left out."""
    rows = [row_answer(row) for row in view.rows]
    metrics = [key for key in METRICS if any(key in row["metrics"] for row in rows)]
    applications = [key for key in APPLICATIONS if any(key in row["applications"] for row in rows)]
    return [_flat(row, metrics, applications) for row in rows]


def _flat(row: Mapping[str, Any], metrics: Sequence[str], applications: Sequence[str]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "rank":
            flat["rank_best"], flat["rank_worst"] = value or (None, None)
        elif name == "datasets":
            flat[name] = ";".join(value)
        elif name == "score":
            flat |= _estimate("score", value)
        elif name == "metrics":
            for key in metrics:
                flat |= _estimate(key, value.get(key, {}))
        elif name == "application_details":
            for key in applications:
                flat |= _application(key, value.get(key, {}))
        elif name == "applications":
            continue
        else:
            flat[name] = value
    return flat


def _estimate(key: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.get("value"), **{f"{key}_{part}": value.get(part) for part in _PARTS}}


def _application(key: str, found: Mapping[str, Any]) -> dict[str, Any]:
    value = found.get("value", {})
    flat = {key: value.get("value"), **{f"{key}_{part}": value.get(part) for part in ("low", "high", "n", "failed")}}
    flat |= {f"{key}_left_out": found.get("left_out")}
    flat |= {f"{key}_{part}": found.get(part, {}).get("value") for part in ("reference", "loss")}
    return flat | {f"{key}_{part}": found.get(part) for part in ("model", "model_sha256")}


def board_csv(view: BoardView) -> str:
    """Write the rows as CSV (RFC 4180 but for the first line). No cell can be taken for a formula."""
    out = io.StringIO()
    out.write(f"# {heading(view)}\r\n")
    rows = flat_rows(view)
    if rows:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return escape_formula(value) if isinstance(value, str) else value


def board_parquet(view: BoardView) -> bytes:
    """Write the rows as Parquet; the metadata's key ``codec_superb_leaderboard`` holds query and revision as JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = flat_rows(view)
    names = list(rows[0]) if rows else []
    facts = {"query": _query(view), "revision": view.revision, "updated": view.updated, "rank_basis": view.rank_basis}
    schema = pa.schema(
        [pa.field(name, pa.type_for_alias(_arrow_type(name))) for name in names],
        metadata={"codec_superb_leaderboard": json.dumps(facts)},
    )
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), out, compression="zstd")
    return out.getvalue()


def _arrow_type(name: str) -> str:
    if name in _TEXTS:
        return "string"
    if name in _YES_OR_NO:
        return "bool"
    if name.endswith(("_model", "_model_sha256")):
        return "string"
    stem, part = next(((name.removesuffix(f"_{end}"), end) for end in _COUNTS if name.endswith(f"_{end}")), (name, ""))
    counted = part and (stem in METRICS or stem in APPLICATIONS or stem == "score")
    return "int64" if counted or name in _WHOLE else "double"


def heading(view: BoardView) -> str:
    """Say in a line what was chosen, of which state of the data."""
    return f"Codec-SUPERB leaderboard, revision {view.revision}, ranks by {view.rank_basis}, query ?{_query(view)}"


def _query(view: BoardView) -> str:
    return to_query(view.state, view.default_source)
