"""Colours and marker shapes: one palette for light and one for dark pages, the same names and order in both.

Figures are built in the light palette; the page replaces each colour by its dark counterpart, so every colour of a
palette must be distinct. Text reaches a contrast of 4.5 : 1 and marks 3 : 1 on the paper. Families differ in hue
*and* in shape, so that colour is never the only distinction; neighbouring hues stay apart for the common kinds of
colour blindness (after Okabe and Ito).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down")
"""Plotly's names; a count without a common factor with the colours', so that 35 families differ."""

CEILING_SYMBOL = "star"
"""Lossless codecs, of whatever family."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one scheme, as ``#rrggbb``."""

    paper: str
    raised: str
    """Background of table heads, selected tabs and hover labels."""
    ink: str
    muted: str
    line: str
    accent: str
    """Links, focus, the selected clip."""
    warning: str
    front: str
    """Pareto front, ceilings and other reference lines."""
    soft: str
    """Inside of boxes."""
    families: tuple[str, ...]

    def colours(self) -> tuple[str, ...]:
        """All colours in a fixed order, the same in every palette."""
        fixed = (self.paper, self.raised, self.ink, self.muted, self.line, self.accent)
        return (*fixed, self.warning, self.front, self.soft, *self.families)

    def variables(self) -> dict[str, str]:
        """Names of CSS custom properties and their values."""
        names = ("paper", "raised", "ink", "muted", "line", "accent", "warning", "front", "soft")
        fixed = {name: getattr(self, name) for name in names}
        return {**fixed, **{f"family-{index}": colour for index, colour in enumerate(self.families)}}


LIGHT = Palette(
    paper="#fcfcfa",
    raised="#f1f1ec",
    ink="#1c2430",
    muted="#56606e",
    line="#dcdcd4",
    accent="#155fa6",
    warning="#a03c00",
    front="#868d97",
    soft="#e6e8ea",
    families=("#0b63b0", "#cc5206", "#00805c", "#a0428a", "#8b6a00", "#2789b3", "#4b515a"),
)

DARK = Palette(
    paper="#14181d",
    raised="#1f252c",
    ink="#e7e9ec",
    muted="#a2abb6",
    line="#323a44",
    accent="#86bbf5",
    warning="#f2a26b",
    front="#77808c",
    soft="#29313a",
    families=("#5ea8f2", "#f58d50", "#40c49c", "#df92c9", "#dab53f", "#82d2ee", "#c4c9d1"),
)


@dataclass(frozen=True, slots=True)
class Style:
    """How a family is drawn."""

    colour: str
    """Of the light palette."""
    colour_index: int
    symbol: str


def family_styles(families: Iterable[str]) -> dict[str, Style]:
    """Give each family its colour and shape, by alphabetical order: the same whatever the order they come in."""
    styles = {}
    for index, family in enumerate(sorted(set(families))):
        colour_index = index % len(LIGHT.families)
        styles[family] = Style(LIGHT.families[colour_index], colour_index, SYMBOLS[index % len(SYMBOLS)])
    return styles
