"""A table of formatted text, as templates render it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextCell:
    """One cell, or a heading of a row."""

    text: str
    small: str = ""
    """Second, quieter line."""
    url: str | None = None
    warning: str = ""
    """Third line, a warning."""


Row = tuple[TextCell, ...]


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table whose first column holds the headings of the rows."""

    caption: str
    heads: tuple[TextCell, ...]
    """The first one stands over the headings of the rows."""
    rows: tuple[Row, ...]
