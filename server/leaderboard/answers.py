"""Writes a view of the board as strict JSON: unknown numbers are null, never NaN."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isnan
from typing import Any

from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.server.leaderboard.schemas import ApplicationAnswer
from codec_superb.web.rows import ApplicationRow, BoardRow
from codec_superb.web.site.board.choices import BoardView, to_query


def board_json(view: BoardView) -> bytes:
    """Write the whole view; the layout is :class:`~codec_superb.server.leaderboard.schemas.BoardAnswer`."""
    head = _dumps(_head(view)).removesuffix("}")
    rows = ",".join(_row_json(row) for row in view.rows)
    return f'{head},"rows":[{rows}]}}'.encode()


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


_WRITTEN = SingleFlightCache(32 << 20, len)
"""Rows without rank as JSON, by their letters: some 2 kB each, one with all tasks that the board ships 120 kB."""


def _row_json(row: BoardRow) -> str:
    """Write a row: its rank, then the cached rest."""
    rest = _WRITTEN.get(row.identity, lambda: _dumps(_rest(row))) if row.identity else _dumps(_rest(row))
    return f"{_dumps(_rank(row)).removesuffix('}')},{rest[1:]}"


def _head(view: BoardView) -> dict[str, Any]:
    """Describe all of the view but its rows."""
    choices = view.choices
    state = {**asdict(view.state), "rates": list(view.state.rates), "columns": list(view.state.columns)}
    return {
        "query": to_query(view.state, view.default_source),
        "revision": view.revision,
        "updated": view.updated,
        "state": state,
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


def _rank(row: BoardRow) -> dict[str, Any]:
    return {"rank": list(row.result.rank) if row.result.rank else None, "unranked": row.unranked}


def _rest(row: BoardRow) -> dict[str, Any]:
    result = row.result
    return {
        "codec": result.codec,
        "title": result.title,
        "family": result.family,
        "source": row.source,
        "source_label": row.source_label,
        "source_url": row.source_url,
        "submission": row.submission,
        "received": row.received,
        "submitter": row.submitter,
        "submitter_in_file": row.submitter_in_file,
        "kind": row.kind,
        "sampling_rate": row.sampling_rate,
        "open_weights": row.open_weights,
        "causal": row.causal,
        **row.card._asdict(),
        "nominal_kbps": result.nominal_kbps,
        "bit_source": result.bit_source,
        "lossless": result.lossless,
        "undefined": row.undefined,
        "also": list(row.also),
        "result": result.summary.model_dump(mode="json"),
        "size_ratio": result.summary.size_ratio,
        "operations": {name: found.model_dump(mode="json") for name, found in result.operations.items()},
        "applications": {
            key: application_answer(found).model_dump(mode="json") for key, found in row.applications.items()
        },
    }


def application_answer(found: ApplicationRow) -> ApplicationAnswer:
    """Describe a figure of an application, with its ceiling and the model that answered."""
    return ApplicationAnswer(
        numbers=found.numbers,
        model=found.model.backend,
        model_sha256=found.model.sha256 or None,
        version=found.model.version or None,
        settings=dict(found.model.all_settings),
        run_again=found.run_again,
        kbps=None if isnan(found.kbps) else found.kbps,
    )
