"""UltraEval-Audio's average of the codecs that were submitted, as a table apart from the published one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from codec_superb.web.application_rows import warning
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.rows import ApplicationRow, BoardRow, figure_label
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import interval, rank

AVERAGE = "ultra_average"
"""Key of UltraEval-Audio's average of codecs."""
_HEADS = (
    TextCell("Codec"), TextCell("Average", "higher is better"), TextCell("Rank"), TextCell("Clips", "who answered"),
)  # fmt: skip


def averages_table(rows: Sequence[BoardRow], equal: Collection[str]) -> TextTable | None:
    """Make the table of rows in their order; None where no codec has the average.

    ``equal`` are the codecs with complete results on the datasets, and by the models, that most senders have.
    """
    found = [(row, row.applications[AVERAGE]) for row in rows if AVERAGE in row.applications]
    if not found:
        return None
    # clips of another state of a dataset may be more, and are no measure for these
    beside = [average for row, average in found if row.result.codec in equal]
    caption = "Average of submitted codecs; in brackets 95 % intervals"
    return TextTable(caption, _HEADS, tuple(_line(row, average, beside) for row, average in found))


def _line(row: BoardRow, average: ApplicationRow, beside: Sequence[ApplicationRow]) -> tuple[TextCell, ...]:
    value, quantity = average.numbers.resynthesis, APPLICATIONS[AVERAGE]
    ends = interval(value.low, value.high, quantity.decimals)
    return (
        TextCell(row.result.title, figure_label(row.source_label, average), f"/codecs/{row.result.codec}"),
        TextCell(quantity.write(value.value), ends, None, warning(average, beside)),
        TextCell(rank(row.result.rank), "", None, row.unranked),
        TextCell(f"{average.numbers.n:,}", average.model.name),
    )
