"""The ranking that ``bench --watch`` shows while clips are scored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from codec_superb.pipeline.comparison.standing import Place, Standing
from codec_superb.web.text import count, kbps, number

if TYPE_CHECKING:
    from rich.table import Table

FIRST = 5
"""Places of a category that a plain line names."""
_DECIMALS = 3


class LiveRanking:
    """The places so far, by category, as a :class:`~codec_superb.cli.console.Board`."""

    def __init__(self, runs: Sequence[Path]) -> None:
        """Show the clean ones of finished resyntheses. Raises RunFolderError for another run."""
        self._standing = Standing(runs)
        self._places: dict[str, list[Place]] = {}

    def refresh(self) -> None:
        """Read what was scored since the last call."""
        self._standing.read()
        found: dict[str, list[Place]] = {}
        for place in self._standing.places():
            found.setdefault(place.category, []).append(place)
        self._places = found

    def table(self, height: int) -> Table | None:
        """Return a column of places for each category, with as many lines as there is room for."""
        from rich.table import Table

        places = self._places
        if not places:
            return None
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(justify="right", no_wrap=True)
        for category, its in places.items():
            table.add_column(f"{category}, {count(its[0].clips, 'clip')}", no_wrap=True)
        lines = list(zip_longest(*places.values()))
        shown = max(1, height - 1)
        if len(lines) > shown:
            lines = lines[: max(1, shown - 1)]
        for line, across in enumerate(lines, 1):
            table.add_row(str(line), *("" if place is None else _cell(place) for place in across))
        if (more := max(map(len, places.values())) - len(lines)) > 0:
            table.add_row("", f"and {more} more")
        return table

    def lines(self) -> list[str]:
        """Return a line for each category: its first places."""
        return [
            f"{category} after {count(its[0].clips, 'clip')}: "
            + ", ".join(f"{line}. {_cell(place)}{_rate(place)}" for line, place in enumerate(its[:FIRST], 1))
            + (f" and {len(its) - FIRST} more" if len(its) > FIRST else "")
            for category, its in self._places.items()
        ]


def _cell(place: Place) -> str:
    return f"{place.codec} {number(place.score, _DECIMALS)}"


def _rate(place: Place) -> str:
    return "" if place.kbps is None else f" ({kbps(place.kbps)} kbps)"
