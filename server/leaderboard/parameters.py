"""The parameters of the leaderboard as the OpenAPI document lists them; they are read by ``state.parse``."""

from __future__ import annotations

from typing import Any

from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.leaderboard.state import NO, QUANTITIES, SORTS, SOURCES, YES


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _choice(values: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_AMOUNT = {"type": "number", "minimum": 0}
_YES_OR_NO = {"type": "string", "enum": [*YES, *NO]}

STATE_PARAMETERS: dict[str, Any] = {
    "parameters": [
        _parameter("category", _choice(CATEGORIES), "Category; speech unless chosen."),
        _parameter("metric", _choice(QUANTITIES), "What codecs are ranked by; the overall score unless chosen."),
        _parameter("source", _choice(SOURCES), "Submissions (runs), a published table, or all mixed."),
        _parameter("dataset", {"type": "string"}, "Results on this dataset alone."),
        _parameter("kbps_min", _AMOUNT, "Least measured bitrate, kbps."),
        _parameter("kbps_max", _AMOUNT, "Largest measured bitrate, kbps."),
        _parameter("tps_min", _AMOUNT, "Fewest tokens per second."),
        _parameter("tps_max", _AMOUNT, "Most tokens per second."),
        _parameter(
            "rates",
            {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 10_000_000}, "maxItems": 20},
            "Sampling rates of the codec in Hz; may be repeated.",
        ),
        _parameter("open_weights", _YES_OR_NO, "1: only codecs that anybody can get."),
        _parameter("causal", _YES_OR_NO, "1: only causal codecs."),
        _parameter("search", {"type": "string", "maxLength": 100}, "Part of name, title or family."),
        _parameter("sort", _choice(SORTS), "Column to sort by."),
        _parameter("descending", _YES_OR_NO, "1: largest first; the column's own best order unless chosen."),
        _parameter("page", {"type": "integer", "minimum": 1, "maximum": 100_000}, "Page of 50 rows."),
    ]
}
"""For ``openapi_extra``."""
