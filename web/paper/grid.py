"""A plain grid of cells in the three forms of a paper's tables: mean ranks, and comparisons of two codecs."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import PurePath

from codec_superb.web.errors import PaperError
from codec_superb.web.paper.latex import latex_comment, latex_text
from codec_superb.web.paper.plain import markdown_text
from codec_superb.web.spreadsheets import escape_formula

FORMS = (".tex", ".md", ".csv")
"""Endings of its files."""


@dataclass(frozen=True, slots=True)
class Grid:
    """What stands in it, as people read it and with all digits."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: frozenset[int]
    """Columns that are aligned to the left."""
    notes: tuple[str, ...]
    """Sentences for the caption."""
    data_heads: tuple[str, ...]
    data: tuple[tuple[str | float | None, ...], ...]
    """Rows of the CSV; None is an empty cell."""


def written_grid(grid: Grid, name: str) -> str:
    """Write a grid as the ending of the file's name says. Raises PaperError for another one."""
    ending = PurePath(name).suffix.lower()
    if ending not in FORMS:
        raise PaperError(f"{name}: expected a table's file to end in {', '.join(FORMS)}, got {ending or 'no ending'}")
    return {".tex": _latex, ".md": _markdown, ".csv": _csv}[ending](grid)


def _latex(grid: Grid) -> str:
    lines = [" & ".join(map(latex_text, cells)) + r" \\" for cells in (grid.heads, *grid.rows)]
    spec = "".join("l" if n in grid.texts else "r" for n, _ in enumerate(grid.heads))
    begin = [rf"\begin{{tabular}}{{@{{}}{spec}@{{}}}}", r"\toprule", lines[0], r"\midrule"]
    comments = ["needs \\usepackage{booktabs}", *(f"caption: {note}" for note in grid.notes)]
    return "".join(map(latex_comment, comments)) + "\n".join([*begin, *lines[1:], r"\bottomrule", r"\end{tabular}", ""])


def _markdown(grid: Grid) -> str:
    bars = [":--" if n in grid.texts else "--:" for n, _ in enumerate(grid.heads)]
    lines = [map(markdown_text, grid.heads), bars, *(map(markdown_text, row) for row in grid.rows)]
    notes = "".join(f"{markdown_text(note)}\n" for note in grid.notes)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n" + notes


def _csv(grid: Grid) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    for row in (grid.data_heads, *grid.data):
        writer.writerow([escape_formula(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()
