"""The board as CSV and Parquet: the rows that pass the filters, of all pages, in the order shown.

One row a codec, one column a number; an estimate ``K`` is ``K``, ``K_low``, ``K_high``, ``K_n``, ``K_undefined`` and
``K_failed``. A figure ``K`` of an application is ``K``, ``K_low``, ``K_high``, ``K_n``, ``K_failed``, ``K_left_out``,
``K_original``, ``K_loss``, ``K_model``, ``K_model_sha256``, ``K_run_again``, which is empty where nothing of the
submission is verified, and ``K_kbps``, the bitrate of the clips behind it. What was chosen and the revision stand in
Parquet's metadata and in the first line of the CSV, which begins with ``#`` (``pandas.read_csv(file, skiprows=1)``).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from math import isnan
from typing import Any, Literal

from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import METRICS
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.rows import ApplicationRow, BoardRow
from codec_superb.web.site.board.choices import BoardView, to_query
from codec_superb.web.spreadsheets import escape_formula

_PARTS = ("low", "high", "n", "undefined", "failed")
_OF_ROW = (
    "source", "source_label", "source_url", "submission", "received", "submitter",
    "submitter_in_file", "kind", "sampling_rate",
    "open_weights", "causal",
)  # fmt: skip
_OF_SUMMARY = (
    "complete", "largest_lag", "clipped_samples", "encode_rtf", "decode_rtf", "compression_ratio", "size_ratio",
)  # fmt: skip
_STEPS: tuple[Literal["encode"], Literal["decode"]] = ("encode", "decode")
_WHOLE = frozenset({
    "sampling_rate", "parameters", "year", "rank_best", "rank_worst", "clips", "failed", "undefined", "largest_lag",
    "clipped_samples",
})  # fmt: skip
_APPLICATION_PARTS = (
    "low", "high", "n", "failed", "left_out", "original", "loss", "model", "model_sha256", "run_again", "kbps",
)  # fmt: skip
_COUNTS = ("n", "undefined", "failed", "left_out")
_YES_OR_NO = frozenset({
    "open_weights", "causal", "lossless", "complete", "encode_flops_at_least", "decode_flops_at_least",
})  # fmt: skip
_TEXTS = frozenset({
    "codec", "title", "family", "category", "source", "source_label", "source_url", "submission", "received",
    "submitter", "submitter_in_file", "kind", "unranked", "datasets", "bit_source", "licence", "paper",
})  # fmt: skip


def flat_rows(view: BoardView) -> list[dict[str, Any]]:
    """Make one flat row a codec; every row has the same columns, those that no codec has a value in left out."""
    metrics = [key for key in METRICS if any(key in row.result.summary.metrics for row in view.rows)]
    applications = [key for key in APPLICATIONS if any(key in row.applications for row in view.rows)]
    return [_flat(row, metrics, applications) for row in view.rows]


def _flat(row: BoardRow, metrics: Sequence[str], applications: Sequence[str]) -> dict[str, Any]:
    result, summary = row.result, row.result.summary
    best, worst = result.rank or (None, None)
    flat: dict[str, Any] = {"rank_best": best, "rank_worst": worst, "unranked": row.unranked}
    flat |= {"codec": result.codec, "title": result.title, "family": result.family, "category": summary.category}
    flat |= {name: getattr(row, name) for name in _OF_ROW} | row.card._asdict()
    flat |= {"kbps": summary.kbps, "nominal_kbps": result.nominal_kbps, "bit_source": result.bit_source}
    flat |= {"tokens_per_second": summary.tokens_per_second, "lossless": result.lossless}
    flat |= _estimate("score", summary.score.over(summary.ok, summary.failed))
    for key in metrics:
        flat |= _estimate(key, summary.metrics.get(key))
    for key in applications:
        flat |= _application(key, row.applications.get(key), verified=row.source == "verified")
    flat |= {"datasets": ";".join(summary.datasets), "clips": summary.clips, "failed": summary.failed}
    flat |= {"undefined": row.undefined} | {name: getattr(summary, name) for name in _OF_SUMMARY}
    flops = {step: result.flops(step) for step in _STEPS}
    flat |= {f"{step}_flops": found and found.value for step, found in flops.items()}
    return flat | {f"{step}_flops_at_least": found and found.at_least for step, found in flops.items()}


def _estimate(key: str, found: Estimate | None) -> dict[str, Any]:
    return {key: found and found.mean, **{f"{key}_{part}": getattr(found, part, None) for part in _PARTS}}


def _application(key: str, found: ApplicationRow | None, *, verified: bool) -> dict[str, Any]:
    if found is None:
        return dict.fromkeys((key, *(f"{key}_{part}" for part in _APPLICATION_PARTS)))
    numbers, value = found.numbers, found.numbers.resynthesis
    return {
        key: value.value,
        f"{key}_low": value.low,
        f"{key}_high": value.high,
        f"{key}_n": numbers.n,
        f"{key}_failed": numbers.failed,
        f"{key}_left_out": numbers.left_out,
        f"{key}_original": numbers.reference.value,
        f"{key}_loss": numbers.loss.value,
        f"{key}_model": found.model.backend,
        f"{key}_model_sha256": found.model.sha256 or None,
        f"{key}_run_again": found.run_again if verified else None,
        f"{key}_kbps": None if isnan(found.kbps) else found.kbps,
    }


def board_csv(view: BoardView) -> str:
    """Write the rows as CSV (RFC 4180 but for the first line). No cell can be interpreted as a spreadsheet formula."""
    out = io.StringIO()
    # RFC 4180 has no comments; csv.writer ends its lines with CRLF, as the RFC does
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
    if name in _YES_OR_NO or name.endswith("_run_again"):
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
