"""Which columns the table of the leaderboard has: those chosen, then by priority what the width has room for.

A column that is not chosen has the least width of the table's region at which it is shown; the style sheet leaves it
out below that, so that the same page, kept in memory, fits a phone and a wide screen without a script.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from codec_superb.metrics.table import Category, overall_metrics
from codec_superb.web.site.board.choices import CHOOSABLE, BoardState

ALWAYS = "kbps"
"""Key of the column that nobody chooses: beside the codec it is always there."""
STEP = 4
"""rem between the widths at which columns come and go: ``.w32``, ``.w36``, … in ``tables.css``."""
WIDEST = 96
"""rem of the widest table; what does not fit there is shown where it is chosen."""
_CODEC = 15.0
_WIDTHS = {
    "rank": 5.0,
    "kbps": 6.5,
    "score": 7.0,
    "stoi": 7.0,
    "estoi": 7.0,
    "causal": 5.0,
    "year": 4.5,
    "received": 7.0,
}
"""rem that a column takes, padding included; measured with intervals of three decimals."""
_USUAL = 6.25
_SECOND = (
    "tokens_per_second",
    "clips",
    "sampling_rate",
    "latency_ms",
    "encode_rtf",
    "decode_rtf",
    "parameters",
    "causal",
)
"""What comes after rank and the metrics of the overall score, before everything else."""
_LONG = frozenset({"licence", "paper"})
"""Columns of words, which are shown where they are chosen alone."""


@dataclass(frozen=True, slots=True)
class Place:
    """A column of the table, in order."""

    key: str
    """As in an address."""
    width: int
    """rem of the table's region from which on it is shown; 0: always."""

    @property
    def mark(self) -> str:
        """Class of its cells."""
        if self.key in _LONG:
            return "words"
        return f"w{self.width}" if self.width else ""


def places(state: BoardState, filled: Collection[str]) -> list[Place]:
    """Choose and order the columns after the codec's: bitrate, the metric, the order's, the chosen, and what fits.

    ``filled`` are the keys of the columns in which some row has something. Those with a place of their own come first,
    the others stand in the order of :data:`CHOOSABLE`.
    """
    first = [ALWAYS, state.metric, state.sort or state.metric, *state.columns]
    fixed = [key for key in dict.fromkeys(first) if key in filled or key in state.columns]
    if state.only_columns and state.columns:
        return [Place(key, 0) for key in fixed]
    room = _CODEC + sum(map(_width, fixed))
    found: dict[str, int] = {}
    for key in _by_priority(state.category):
        if key not in filled or key in fixed or key in _LONG:
            continue
        room += _width(key)
        width = STEP * ceil(room / STEP)
        if width <= WIDEST:
            found[key] = width
    ranked = [key for key in ("rank",) if key in found]
    others = [key for key in CHOOSABLE if key in found and key not in ranked]
    return [*(Place(key, 0) for key in fixed), *(Place(key, found[key]) for key in (*ranked, *others))]


def _width(key: str) -> float:
    return _WIDTHS.get(key, _USUAL)


def _by_priority(category: Category) -> Iterable[str]:
    before: Sequence[str] = ("rank", "score", *overall_metrics(category), *_SECOND)
    return dict.fromkeys((*before, *CHOOSABLE))
