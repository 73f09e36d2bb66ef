"""Two codecs on their shared clips as a table: differences, p-values and effect sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codec_superb.web.paper.grid import Grid
from codec_superb.web.text import MISSING, interval, number, p_value

_DIGITS = 3


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One figure of both codecs."""

    dataset: str
    """'' for a category over its datasets."""
    category: str
    """'' for a figure of an application."""
    figure: str
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    n: int | None = None
    """Clips that both have a value on."""
    wins: int | None = None
    losses: int | None = None
    clusters: int | None = None
    p: float | None = None
    rank_biserial: float | None = None
    cohen_dz: float | None = None


def difference_grid(
    codecs: tuple[str, str], described: tuple[str, str], rows: Sequence[DifferenceRow], explained: str
) -> Grid:
    """Make the table of two codecs; ``explained`` says what the p-values and effects are.

    ``described`` has their names with what is to be said beside them, for people.
    """
    first, second = described
    names = DifferenceRow.__dataclass_fields__
    return Grid(
        heads=(
            "Dataset",
            "Category",
            "Figure",
            "First",
            "Second",
            "Difference",
            "95 % interval",
            "p",
            "r",
            "d_z",
            "Clips",
        ),
        rows=tuple(_cells(row) for row in rows),
        texts=frozenset({0, 1, 2}),
        notes=(f"First: {first}; second: {second}; differences are first minus second.", f"{explained}."),
        data_heads=("first_codec", "second_codec", *names),
        data=tuple((*codecs, *(getattr(row, name) for name in names)) for row in rows),
    )


def _cells(row: DifferenceRow) -> tuple[str, ...]:
    means = (number(value, _DIGITS) for value in (row.first, row.second, row.difference))
    effects = (number(value, 2) for value in (row.rank_biserial, row.cohen_dz))
    ends = interval(row.low, row.high, _DIGITS) or MISSING
    clips = MISSING if row.n is None else str(row.n)
    return row.dataset or "all", row.category, row.figure, *means, ends, p_value(row.p), *effects, clips
