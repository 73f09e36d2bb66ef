"""State and content of the leaderboard page as plain typed rows, shared by page, charts and exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlencode

from codec_superb.metrics.table import METRICS, Category
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.rows import BoardRow

SourceFilter = Literal["runs", "verified", "self-reported", "table3", "tiny", "ultraeval", "all"]
"""``runs``: submissions, verified and self-reported, or those of one of the two. ``table3``, ``tiny``, ``ultraeval``:
one table of published figures. ``all``: all sources together, where the visitor asks for it."""


RankBasis = Literal["intervals", "values", "mixed"]
"""How ranks were made. ``intervals``: a range of places from 95 % intervals, among complete submissions on the same
datasets. ``values``: by the figures of one published table, which has no intervals. ``mixed``: by value alone across
sources whose conditions differ, because the visitor asked for all."""


COLUMNS: Mapping[str, bool] = MappingProxyType({
    "codec": False, "family": False, "kbps": False, "nominal_kbps": False, "tokens_per_second": False,
    "compression_ratio": True, "encode_rtf": False, "decode_rtf": False, "largest_lag": False, "clipped_samples": False,
    "sampling_rate": True, "clips": True, "failed": False, "undefined": False, "received": True, "source": True,
    "frame_rate": False, "parameters": False, "causal": True, "latency_ms": False, "year": True,
})  # fmt: skip
"""Columns besides scores and metrics by which rows are sorted, and whether their own order is descending."""


CHOOSABLE = (
    "rank", SCORE_KEY, *METRICS, *APPLICATIONS, "tokens_per_second", "frame_rate", "latency_ms", "causal", "parameters",
    "sampling_rate", "year", "licence", "paper", "clips", "encode_rtf", "decode_rtf", "encode_flops", "decode_flops",
    "compression_ratio", "clipped_samples", "received",
)  # fmt: skip
"""Columns of the table that a visitor chooses; codec and bitrate are always there."""


@dataclass(frozen=True, slots=True)
class BoardState:
    """The visitor's choices, all of them in the address; defaults are left out of it."""

    category: Category = "speech"
    metric: str = "score"
    """Key of the quantity of chart, ranks and default order: ``score``, a metric's or an application metric's key."""
    source: SourceFilter = "runs"
    dataset: str = ""
    """'' for the category score over all datasets of each codec; else one dataset's results alone."""
    kbps_min: float | None = None
    kbps_max: float | None = None
    tps_min: float | None = None
    tps_max: float | None = None
    rates: tuple[int, ...] = ()
    """Sampling rates in Hz; () for any."""
    open_weights: bool = False
    """Only codecs whose weights are open."""
    causal: bool = False
    """Only causal codecs."""
    search: str = ""
    """Part of name, title or family; finds rows without changing ranks."""
    sort: str = ""
    """Column: one of :data:`COLUMNS`, ``score`` or a key like ``metric``'s; '' for the order of ``metric``, best first,
    codecs without a rank behind."""
    descending: bool | None = None
    """None for the column's own best order."""
    columns: tuple[str, ...] = ()
    """Of :data:`CHOOSABLE`, in its order: shown whatever the width; others where there is room."""
    only_columns: bool = False
    """No other columns than these."""
    page: int = 1

    def filters(self) -> BoardState:
        """Return the same without order, columns and page: what chooses codecs, and the quantity they are ranked by."""
        usual = BoardState()
        return replace(
            self, sort=usual.sort, descending=usual.descending, page=usual.page, columns=usual.columns,
            only_columns=usual.only_columns,
        )  # fmt: skip


@lru_cache(maxsize=4096)
def to_query(state: BoardState, default_source: SourceFilter = "runs") -> str:
    """Write what the visitor chose as the canonical query of an address, without ``?``; '' where all is the default.

    One parameter a field, by its name, in the order of the fields; ``rates`` repeats, yes and no are 1 and 0.
    ``default_source`` is :attr:`BoardView.default_source`.
    """
    usual = BoardState(source=default_source, metric=default_metric(state.source, state.dataset))
    pairs: list[tuple[str, str]] = []
    for entry in fields(BoardState):
        value = getattr(state, entry.name)
        if value == getattr(usual, entry.name):
            continue
        parts = value if isinstance(value, tuple) else (value,)
        pairs += [(entry.name, _written(part)) for part in parts]
    return urlencode(pairs)


def default_metric(source: SourceFilter, dataset: str) -> str:
    """Return the default quantity: the overall score wherever there is one."""
    if source != "ultraeval":
        return "score"
    return "ultra_error_rate_pct" if dataset else "ultra_average"


def _written(value: str | float | bool) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(int(value)) if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the pickers in this category and source."""

    datasets: Sequence[str]
    metrics: Sequence[str]
    """Keys with a value in some row: ``score``, those of the metric table, those of ``web.applications``."""
    rates: Sequence[int]
    sources: Sequence[tuple[SourceFilter, str, int]]
    """Filter, label, number of codecs."""
    not_run_again: int = 0
    """Codecs that a board of verified ones leaves out, since nobody ran any of their results again."""


@dataclass(frozen=True, slots=True)
class BoardView:
    """One answer of the leaderboard."""

    state: BoardState
    rows: Sequence[BoardRow]
    """Those of this page, sorted."""
    total: int
    """Rows over all pages."""
    page_size: int
    ranked_datasets: Sequence[str]
    """Datasets on which the ranks rest: the combination that most rows have."""
    choices: Choices
    revision: str
    """Changes when the public data do."""
    updated: str | None
    """ISO date of the newest submission shown."""
    default_source: SourceFilter = "runs"
    """The default source: ``table3`` as long as there is no public submission."""
    rank_basis: RankBasis = "intervals"
