"""Texts of the leaderboard: its sources, how ranks are computed, which filters are set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.site.board.address import Addresses
from codec_superb.web.site.board.choices import BoardState, BoardView, RankBasis, SourceFilter
from codec_superb.web.text import count, hertz

SOURCES: Mapping[SourceFilter, str] = MappingProxyType({
    "runs": "Submissions whose every number was recomputed here from their clips, run by their submitters or by us.",
    "verified": "Only submissions that the maintainers ran again themselves.",
    "self-reported": "Only submissions that nobody ran again here: the account named answers for their clips.",
    "table3": "Figures of the benchmark’s paper: published, not re-run here. They have no intervals, their "
    "bitrates are nominal.",
    "tiny": "Figures of the authors’ re-run on a small sample: published, not re-run here. They have no intervals.",
    "ultraeval": "Figures of the UltraEval-Audio paper: published, not re-run here. Applications only, no bitrates.",
    "all": "Everything mixed. The sources differ in datasets, clips and definitions: small differences mean nothing.",
})  # fmt: skip
"""Description of each source."""

RANKS: Mapping[RankBasis, str] = MappingProxyType({
    "intervals": "Ranks are ranges: the best and the worst place that the 95 % intervals allow.",
    "values": "Ranks follow the published figures alone, which have no intervals.",
    "mixed": "Ranks follow the figures alone, although their sources differ.",
})  # fmt: skip
"""How to read the ranks."""

_MOST_REASONS = 3


def rank_words(view: BoardView) -> str:
    """Say how to read the ranks of the rows shown, or why none of them has one."""
    if view.rows and not any(row.result.rank for row in view.rows):
        counts = Counter(row.unranked for row in view.rows if row.unranked)
        reasons = [f"{reason} ({count(n, 'codec')})" for reason, n in counts.most_common(_MOST_REASONS)]
        return "No codec shown here has a rank" + (f": {'; '.join(reasons)}." if reasons else ".")
    return RANKS[view.rank_basis] + (f" {MODELS}" if view.state.metric in APPLICATIONS else "")


MODELS = (
    "Models differ by more than codecs do: only codecs for which one model answered, asked in one way, are ranked, and "
    "where several answered the Pareto front is of that one alone."
)
"""Additional note on ranks by an application metric."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter that is set, and the address without it."""

    text: str
    url: str


def chips(state: BoardState, addresses: Addresses) -> list[Chip]:
    """List the filters that narrow the table."""
    return [Chip(text, addresses.to(**without)) for text, without in _filters(state)]


def _filters(state: BoardState) -> Iterator[tuple[str, dict[str, Any]]]:
    if state.search:
        yield f"“{state.search}”", {"search": ""}
    if state.dataset:
        yield f"dataset {state.dataset}", {"dataset": ""}
    if state.kbps_min is not None or state.kbps_max is not None:
        yield f"{_span(state.kbps_min, state.kbps_max)} kbps", {"kbps_min": None, "kbps_max": None}
    if state.tps_min is not None or state.tps_max is not None:
        yield f"{_span(state.tps_min, state.tps_max)} tokens per second", {"tps_min": None, "tps_max": None}
    for rate in state.rates:
        yield hertz(rate), {"rates": tuple(other for other in state.rates if other != rate)}
    if state.open_weights:
        yield "open weights", {"open_weights": False}
    if state.causal:
        yield "causal", {"causal": False}


def _span(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {plain(high)}"
    return f"at least {plain(low)}" if high is None else f"{plain(low)} to {plain(high)}"


def plain(value: float | None) -> str:
    """Write a number in its shortest form: ``16``, ``0.75``; '' for None."""
    return "" if value is None else f"{value:.10g}"
