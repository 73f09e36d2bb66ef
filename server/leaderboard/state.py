"""Parses the leaderboard's state from an address; :func:`codec_superb.web.site.board.choices.to_query` writes it.

A parameter is a field of :class:`~codec_superb.web.site.board.choices.BoardState`, by its name; an empty one counts as
not given, because forms send it. An unknown or impossible value is an error that names the choices, never silently
ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields
from typing import Any, TypeVar, get_args

from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.server.errors import BadRequest
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.site.board.choices import CHOOSABLE, COLUMNS, BoardState, SourceFilter, default_metric

QUANTITIES = (SCORE_KEY, *METRICS, *APPLICATIONS)
"""What ``metric`` may be."""
SORTS = (*COLUMNS, *QUANTITIES)
SOURCES: tuple[SourceFilter, ...] = get_args(SourceFilter)
_PARAMETERS = tuple(entry.name for entry in fields(BoardState))
_LONGEST_SEARCH = 100
_LAST_PAGE = 100_000
_MOST_RATES = 20
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
"""Values of an on-off filter."""
T = TypeVar("T")


def parse(
    pairs: Iterable[tuple[str, str]],
    *,
    default_source: Callable[[Category, str], SourceFilter] = lambda _category, _metric: "runs",
    datasets: Collection[str] | None = None,
) -> BoardState:
    """Read the parameters of an address. Raises BadRequest.

    ``datasets`` are the names that are known; None takes any.
    """
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in _PARAMETERS:
            raise _bad(name, f"a parameter of {', '.join(_PARAMETERS)}", name)
        if value.strip():
            given.setdefault(name, []).append(value.strip())
    category = _one(given, "category", BoardState().category, _choice(CATEGORIES))
    metric = _one(given, "metric", SCORE_KEY, _choice(QUANTITIES))
    source = _one(given, "source", default_source(category, metric), _choice(SOURCES))
    dataset = _one(given, "dataset", "", str if datasets is None else _choice(sorted(datasets)))
    state = BoardState(
        category=category,
        metric=_one(given, "metric", default_metric(source, dataset), _choice(QUANTITIES)),
        source=source,
        dataset=dataset,
        kbps_min=_one(given, "kbps_min", None, _amount),
        kbps_max=_one(given, "kbps_max", None, _amount),
        tps_min=_one(given, "tps_min", None, _amount),
        tps_max=_one(given, "tps_max", None, _amount),
        rates=_rates(given.get("rates", ())),
        open_weights=_one(given, "open_weights", False, _yes_or_no),
        causal=_one(given, "causal", False, _yes_or_no),
        search=_one(given, "search", "", _search),
        sort=_one(given, "sort", "", _choice(SORTS)),
        descending=_one(given, "descending", None, _yes_or_no),
        columns=_columns(given.get("columns", ())),
        only_columns=_one(given, "only_columns", False, _yes_or_no),
        page=_one(given, "page", 1, _page),
    )
    _ordered(state.kbps_min, state.kbps_max, "kbps")
    _ordered(state.tps_min, state.tps_max, "tps")
    return state


class _InvalidValue(Exception):
    """A value that does not fit; the text says what was expected."""


def _one(given: dict[str, list[str]], name: str, default: T, read: Callable[[str], T]) -> T:
    values = given.get(name)
    if not values:
        return default
    if len(values) > 1:
        raise _bad(name, "one value", f"{len(values)} values")
    try:
        return read(values[0])
    except _InvalidValue as wrong:
        raise _bad(name, str(wrong), values[0]) from None


def _choice(choices: Collection[Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text not in choices:
            raise _InvalidValue(f"one of {', '.join(choices)}")
        return text

    return read


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise _InvalidValue("a number of at least 0")
    return value + 0.0  # so that -0 is written as 0


def _whole(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise _InvalidValue(f"a whole number from 1 to {most}")
    return int(text)


def _page(text: str) -> int:
    return _whole(text, _LAST_PAGE)


def _rates(texts: Collection[str]) -> tuple[int, ...]:
    if len(texts) > _MOST_RATES:
        raise _bad("rates", f"at most {_MOST_RATES} sampling rates", f"{len(texts)}")
    try:
        return tuple(sorted({_whole(text, 10_000_000) for text in texts}))
    except _InvalidValue as wrong:
        raise _bad("rates", f"{wrong}, in Hz", ", ".join(texts)) from None


def _columns(texts: Collection[str]) -> tuple[str, ...]:
    for text in texts:
        if text not in CHOOSABLE:
            raise _bad("columns", f"one of {', '.join(CHOOSABLE)}", text)
    return tuple(key for key in CHOOSABLE if key in texts)


def _yes_or_no(text: str) -> bool:
    if text.lower() not in YES + NO:
        raise _InvalidValue("1 or 0")
    return text.lower() in YES


def _search(text: str) -> str:
    if len(text) > _LONGEST_SEARCH:
        raise _InvalidValue(f"at most {_LONGEST_SEARCH} characters")
    return text


def _ordered(low: float | None, high: float | None, what: str) -> None:
    if low is not None and high is not None and low > high:
        raise _bad(f"{what}_min", f"at most {what}_max, which is {high:g}", f"{low:g}")


def _bad(name: str, expected: str, got: str) -> BadRequest:
    problem = {"path": f"query.{name[:80]}", "expected": expected, "got": got[:80], "how_to_fix": "see /api/docs"}
    return BadRequest(f"{name[:80]}: expected {expected}, got {got[:80]!r}", problems=[problem])


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _enum(values: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_AMOUNT = {"type": "number", "minimum": 0}
_HERTZ = {"type": "integer", "minimum": 1, "maximum": 10_000_000}
_YES_OR_NO = {"type": "string", "enum": [*YES, *NO]}

STATE_PARAMETERS: dict[str, Any] = {
    "parameters": [
        _parameter("category", _enum(CATEGORIES), "Category; speech unless chosen."),
        _parameter("metric", _enum(QUANTITIES), "What codecs are ranked by; the overall score unless chosen."),
        _parameter(
            "source", _enum(SOURCES), "Submissions (runs), those of one badge, a published table, or all mixed."
        ),
        _parameter("dataset", {"type": "string"}, "Results on this dataset alone."),
        _parameter("kbps_min", _AMOUNT, "Least measured bitrate, kbps."),
        _parameter("kbps_max", _AMOUNT, "Largest measured bitrate, kbps."),
        _parameter("tps_min", _AMOUNT, "Fewest tokens per second."),
        _parameter("tps_max", _AMOUNT, "Most tokens per second."),
        _parameter(
            "rates",
            {"type": "array", "items": _HERTZ, "maxItems": _MOST_RATES},
            "Sampling rates of the codec in Hz; may be repeated.",
        ),
        _parameter("open_weights", _YES_OR_NO, "1: only codecs with public weights, or that need none."),
        _parameter("causal", _YES_OR_NO, "1: only causal codecs."),
        _parameter("search", {"type": "string", "maxLength": _LONGEST_SEARCH}, "Part of name, title or family."),
        _parameter("sort", _enum(SORTS), "Column to sort by."),
        _parameter("descending", _YES_OR_NO, "1: largest first; the column's own best order unless chosen."),
        _parameter(
            "columns",
            {"type": "array", "items": _enum(CHOOSABLE), "maxItems": len(CHOOSABLE)},
            "Columns that the page shows at any width; may be repeated. API and files hold all.",
        ),
        _parameter("only_columns", _YES_OR_NO, "1: the page shows no other columns than these."),
        _parameter("page", {"type": "integer", "minimum": 1, "maximum": _LAST_PAGE}, "Page of 50 rows."),
    ]
}
"""The parameters as the OpenAPI document lists them, for ``openapi_extra``."""
