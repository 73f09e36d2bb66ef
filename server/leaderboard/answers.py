"""From a view of the board to JSON, strictly: unknown numbers are null, never NaN."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.web.rows import ApplicationRow, BoardRow, Estimate
from codec_superb.web.site.board.choices import BoardView, to_query


def board_json(view: BoardView) -> bytes:
    """Write the whole view; the layout is :class:`~codec_superb.server.leaderboard.schemas.BoardAnswer`."""
    head = _dumps(_head(view)).removesuffix("}")
    rows = ",".join(_row_json(row) for row in view.rows)
    return f'{head},"rows":[{rows}]}}'.encode()


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


_WRITTEN = SingleFlightCache(8_000)
"""Rows without rank as JSON, some 2 kB each."""


def _row_json(row: BoardRow) -> str:
    """Write a row: its rank, then what can be kept."""
    rest = _WRITTEN.get(row.identity, lambda: _dumps(_rest(row))) if row.identity else _dumps(_rest(row))
    return f"{_dumps(_rank(row)).removesuffix('}')},{rest[1:]}"


def _head(view: BoardView) -> dict[str, Any]:
    """Describe all of the view but its rows."""
    choices = view.choices
    return {
        "query": to_query(view.state, view.default_source),
        "revision": view.revision,
        "updated": view.updated,
        "state": {**asdict(view.state), "rates": list(view.state.rates)},
        "total": view.total,
        "page_size": view.page_size,
        "ranked_datasets": list(view.ranked_datasets),
        "rank_basis": view.rank_basis,
        "choices": {
            "datasets": list(choices.datasets),
            "metrics": list(choices.metrics),
            "rates": list(choices.rates),
            "sources": [{"source": key, "label": label, "codecs": n} for key, label, n in choices.sources],
        },
    }


def row_answer(row: BoardRow) -> dict[str, Any]:
    """Describe one row."""
    return {**_rank(row), **_rest(row)}


def _rank(row: BoardRow) -> dict[str, Any]:
    return {"rank": list(row.result.rank) if row.result.rank else None, "unranked": row.unranked}


def _rest(row: BoardRow) -> dict[str, Any]:
    result = row.result
    return {
        "codec": result.codec,
        "title": result.title,
        "family": result.family,
        "category": result.category,
        "source": row.source,
        "source_label": row.source_label,
        "source_url": row.source_url,
        "submission": row.submission,
        "received": row.received,
        "submitter": row.submitter,
        "kind": row.kind,
        "sampling_rate": row.sampling_rate,
        "open_weights": row.open_weights,
        "causal": row.causal,
        "kbps": None if math.isnan(result.kbps) else result.kbps,
        "nominal_kbps": result.nominal_kbps,
        "tokens_per_second": result.tokens_per_second,
        "lossless": result.lossless,
        "score": estimate_answer(result.score),
        "metrics": {key: estimate_answer(estimate) for key, estimate in result.metrics.items()},
        "applications": {key: found.value.value for key, found in row.applications.items()},
        "application_details": {key: application_answer(found) for key, found in row.applications.items()},
        "datasets": list(result.datasets),
        "clips": result.clips,
        "failed": result.failed,
        "undefined": row.undefined,
        "complete": result.complete,
        "largest_lag": result.largest_lag,
        "clipped_samples": result.clipped_samples,
        "encode_rtf": result.encode_rtf,
        "decode_rtf": result.decode_rtf,
        "compression_ratio": result.compression_ratio,
    }


def application_answer(found: ApplicationRow) -> dict[str, Any]:
    """Describe a figure of an application, with its ceiling and the model that answered."""
    return {
        "dataset": found.dataset or None,
        "value": estimate_answer(found.value),
        "reference": estimate_answer(found.reference),
        "loss": estimate_answer(found.loss),
        "left_out": found.left_out,
        "pairs": found.pairs,
        "totals": dict(found.totals),
        "model": found.model.backend,
        "model_sha256": found.model.sha256 or None,
        "version": found.model.version or None,
        "settings": dict(found.model.settings),
    }


def estimate_answer(estimate: Estimate) -> dict[str, Any]:
    """Describe a value with what it rests on."""
    return {
        "value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n,
        "undefined": estimate.undefined, "failed": estimate.failed, "sd": estimate.sd,
    }  # fmt: skip
