"""Imported figures of models that hear and answer, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.applications.understanding.conversion.published import PublishedFigure
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import count

LIMIT = 500
"""Rows on the page; a model of UltraEval-Audio has at most some 300 figures."""
_HEADS = ("Dataset", "Figure", "Value", "Model", "Clips")


def imported_table(figures: Sequence[PublishedFigure]) -> TextTable | None:
    """Make the table, in the order of the figures; None without any."""
    if not figures:
        return None
    shown = f"the first {LIMIT} of {len(figures):,} figures" if len(figures) > LIMIT else count(len(figures), "figure")
    return TextTable(f"Imported: {shown}", tuple(map(TextCell, _HEADS)), tuple(map(_row, figures[:LIMIT])))


def _row(of: PublishedFigure) -> tuple[TextCell, ...]:
    asked = f"asked here as und_{of.task}" if of.task else "no task here asks the same"
    answered = TextCell("–") if of.answered is None else TextCell(f"{of.answered:,}", "", None, _failed(of))
    about = ", ".join(filter(None, (of.source, of.made[:10])))
    return (
        TextCell(of.dataset, asked),
        TextCell(of.figure),
        TextCell(f"{of.value:.4g}"),
        TextCell(of.model, about),
        answered,
    )


def _failed(of: PublishedFigure) -> str:
    return f"{of.failed:,} failed, not counted" if of.failed else ""
