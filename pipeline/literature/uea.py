"""The published boards of UltraEval-Audio on models: understanding and generation, with their averages.

Their rows are models on original recordings, not codecs, so they are no :class:`PublishedTable` and enter no board of
codecs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from codec_superb.applications.ultra.further_averages import (
    ANSWERS,
    ERROR_RATES,
    TRANSLATIONS,
    generation,
    understanding,
)
from codec_superb.pipeline.literature.read import read_description, read_figures

BoardName = Literal["understanding", "generation"]
BOARDS: tuple[BoardName, ...] = get_args(BoardName)


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """One row of a board."""

    model: str
    figures: Mapping[str, float]
    """As published, in the order of the board."""
    average: float
    """As published."""

    def computed(self, board: BoardName) -> float:
        """Return the average of its figures."""
        return average_of(board, self.figures)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A figure of the README that contradicts the average beside it."""

    model: str
    figure: str
    printed: float


@cache
def uea_about() -> Mapping[str, Any]:
    """Read what the source is."""
    return read_description("uea")


@cache
def uea_board(board: BoardName) -> tuple[PublishedModel, ...]:
    """Read the rows of a board as they were published."""
    return tuple(_model(line) for line in read_figures(f"uea_{board}"))


@cache
def contradictions() -> tuple[Contradiction, ...]:
    """Read the figures of the generation board for which the README prints others than the paper."""
    return tuple(Contradiction(**entry) for entry in uea_about()["contradictions"])


def average_of(board: BoardName, figures: Mapping[str, float]) -> float:
    """Return the average of the figures of a row, in the order of the board. Raises ValueError for another number."""
    values = list(figures.values())
    if board == "generation":
        return float(generation(values[:ANSWERS], values[ANSWERS:]))
    first = ERROR_RATES + TRANSLATIONS
    return float(understanding(values[:ERROR_RATES], values[ERROR_RATES:first], *values[first:]))


def _model(line: Mapping[str, str]) -> PublishedModel:
    figures = {key: float(value) for key, value in line.items() if key not in {"model", "average"}}
    return PublishedModel(line["model"], figures, float(line["average"]))
