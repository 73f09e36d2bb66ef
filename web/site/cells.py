"""A table of ready text: what templates draw and nothing else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, or a heading of a row."""

    text: str
    small: str = ""
    """Second, quieter line."""
    url: str | None = None
    warning: str = ""
    """Third line, a warning."""


Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column holds the headings of the rows."""

    caption: str
    heads: tuple[Cell, ...]
    """The first one stands over the headings of the rows."""
    rows: tuple[Row, ...]
