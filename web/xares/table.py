"""The same as a table: all numbers of one reader, with seeds beside the interval by clips, and rates beside scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from codec_superb.web.application_rows import UNLIKE
from codec_superb.web.text import MISSING, count
from codec_superb.web.xares.heat import lines_of, task_title, tasks_of
from codec_superb.web.xares.rate import rates_text, spread_text
from codec_superb.web.xares.rows import KINDS, XaresRow


class Cell(NamedTuple):
    """One cell, as the page and the report render it."""

    text: str
    small: str = ""
    url: str = ""
    warning: str = ""


class XaresTable(NamedTuple):
    """A line a subject, whose first cell is its heading; a column a task."""

    heads: tuple[Cell, ...]
    lines: tuple[tuple[Cell, ...], ...]


def xares_table(rows: Sequence[XaresRow]) -> XaresTable:
    """Make the table of what one reader reads."""
    tasks = tasks_of(rows)
    first = {(row.figure, row.dataset): row.quantity.title for row in rows}
    named = (Cell(task_title(task, tasks), f"{first[task]}; {task[1]}") for task in tasks)
    heads = (Cell("Sound"), Cell("Rates"), *named)
    most = dict.fromkeys(tasks, 0)
    for row in rows:
        if not row.apart:  # who calls clips without a label labelled makes nobody's clips fewer
            most[row.figure, row.dataset] = max(row.n + row.failed, most[row.figure, row.dataset])
    return XaresTable(heads, tuple(_line(members, tasks, most) for members in lines_of(rows)))


def _line(
    members: Sequence[XaresRow], tasks: Sequence[tuple[str, str]], most: Mapping[tuple[str, str], int]
) -> tuple[Cell, ...]:
    row = members[0]
    by_task = {(each.figure, each.dataset): each for each in members}
    said = "; ".join(filter(None, (KINDS[row.kind], row.told, row.source)))
    by_rate = sorted(members, key=lambda each: each.bits_per_s or 0.0)
    # each dataset has a bitrate of its own
    ends = dict.fromkeys(rates_text(each).split(", ")[0] for each in (by_rate[0], by_rate[-1]))
    _, *others = rates_text(row).split(", ")
    missing = Cell(MISSING, "not measured")
    return (
        Cell(row.label, said, row.url),
        Cell(" to ".join(ends), ", ".join(others)),
        *(_cell(by_task[task], most[task]) if task in by_task else missing for task in tasks),
    )


def _cell(row: XaresRow, most: int) -> Cell:
    write = row.quantity.write
    told = [spread_text(row)]
    if row.constrained is not None:
        told.append(f"constrained\u00a0{write(row.constrained)}")
    if row.unread is not None:
        told.append(f"unread\u00a0{row.unread:.1f}\u00a0%")
    asked = row.n + row.failed
    fewer = f"{asked} of {count(most, 'clip')}" if asked < most else ""
    failed = f"{row.failed} failed" if row.failed else ""
    unlike = UNLIKE if row.apart else ""
    return Cell(write(row.value), "; ".join(told), "", ", ".join(filter(None, (fewer, failed, unlike))))
