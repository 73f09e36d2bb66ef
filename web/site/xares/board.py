"""The same as a table: all numbers of one reader, with seeds beside the interval by clips, and rates beside scores."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import MISSING
from codec_superb.web.xares.heat import lines_of, task_title, tasks_of
from codec_superb.web.xares.rate import rates_text, spread_text
from codec_superb.web.xares.rows import KINDS, XaresRow

NOT_MEASURED = TextCell(MISSING, "not measured")


def xares_table(rows: Sequence[XaresRow], caption: str) -> TextTable:
    """Make the table: a line a subject, a column a task."""
    tasks = tasks_of(rows)
    first = {(row.figure, row.dataset): row.quantity.title for row in rows}
    heads = (
        TextCell("Sound"), TextCell("Rates"),
        *(TextCell(task_title(task, tasks), f"{first[task]}; {task[1]}") for task in tasks),
    )  # fmt: skip
    return TextTable(caption, heads, tuple(_line(members, tasks) for members in lines_of(rows)))


def _line(members: Sequence[XaresRow], tasks: Sequence[tuple[str, str]]) -> tuple[TextCell, ...]:
    row = members[0]
    by_task = {(each.figure, each.dataset): each for each in members}
    said = "; ".join(filter(None, (KINDS[row.kind], row.told, row.source)))
    bits, *others = rates_text(row).split(", ")
    return (
        TextCell(row.title, said, row.url or None),
        TextCell(bits, ", ".join(others)),
        *(_cell(by_task[task]) if task in by_task else NOT_MEASURED for task in tasks),
    )


def _cell(row: XaresRow) -> TextCell:
    write = row.quantity.write
    told = [spread_text(row)]
    if row.constrained is not None:
        told.append(f"constrained\u00a0{write(row.constrained)}")
    return TextCell(write(row.value), "; ".join(told), None, f"{row.failed} failed" if row.failed else "")
