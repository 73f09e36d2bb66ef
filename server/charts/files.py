"""The data of a chart as CSV (RFC 4180), with full precision."""

from __future__ import annotations

import csv
import io

from codec_superb.server.http.spreadsheets import escape_formula
from codec_superb.web.site.charts.choices import Cell, DrawnChart


def chart_csv(drawn: DrawnChart) -> str:
    """Write a row of names and the rows; unknown numbers stay empty, and no cell can be taken for a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([column.name for column in drawn.data.columns])
    writer.writerows([[_cell(value) for value in row] for row in drawn.data.rows])
    return out.getvalue()


def _cell(value: Cell) -> Cell:
    return escape_formula(value) if isinstance(value, str) else value
