"""The leaderboard's chart: bitrate against the chosen quantity, for one codec up to thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from codec_superb.metrics.results import NO_SCORE, Estimate
from codec_superb.web.answered import beside_front, model_labels
from codec_superb.web.application_rows import at_rates_of, parts_of
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.across import TITLES, placed
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.rate import marked_elsewhere, rate_chart, title_rate_axis
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import BoardRow, CodecResult, ProbeModel, figure_label
from codec_superb.web.theme import family_styles

MOST_FAMILIES = 16
"""Families drawn as lines; with more there are only marks and the front."""
MOST_CODECS = 150
"""Codecs drawn with intervals and full texts."""
LINES_NOTE = f"of up to {MOST_FAMILIES} families and {MOST_CODECS} codecs each family also has a line"
"""For the chart's caption."""


def board_chart(rows: Sequence[BoardRow], quantity: Quantity, across: str = "") -> Figure:
    """Draw all rows that have a value and a bitrate.

    Beside others, codecs of a published table make lines of their own: their figures were measured under other
    conditions than the submissions of the same family. ``quantity`` may be an application's: where several models
    answered, or on several datasets, the codecs of each model make lines of their own, and the front is of one alone.
    ``across`` is a key of :data:`~codec_superb.web.figures.across.AXES`.
    """
    mixed = len({_table(row) for row in rows}) > 1
    asked = [found for row in rows if (found := row.applications.get(quantity.key)) is not None]
    apart = len({(found.model, found.numbers.dataset) for found in asked}) > 1
    labels = model_labels(found.model for found in asked) if apart else {}
    rows = beside_front(rows, quantity.key) if asked else rows
    results = [placed(_drawn(row, quantity, labels, mixed=mixed), across) for row in rows]
    results = results if asked else marked_elsewhere(results, quantity)
    styles = family_styles(result.family for result in results)
    lines = len(styles) <= MOST_FAMILIES and len(results) <= MOST_CODECS
    figure = rate_chart(results, quantity, styles, lines=lines, linked=True, across=TITLES[across])
    if not across and any(row.source == "published" for row in rows):  # their bitrates were not measured
        kinds = {"nominal" if row.source == "published" else row.result.rate_mark or "measured" for row in rows}
        title_rate_axis(figure["layout"], kinds)
    return figure


def application_value(row: BoardRow, key: str) -> Estimate:
    """Return a row's figure of an application; without a value where it has none."""
    found = row.applications.get(key)
    return NO_SCORE.over(0, 0) if found is None else found.value


def chart_family(row: BoardRow) -> str:
    """Name the line that a codec belongs to where sources are mixed."""
    family = row.result.family
    return f"{family} ({row.source_label})" if row.source == "published" else family


def _table(row: BoardRow) -> str:
    """Name the published table of a row; '' for a submission."""
    return row.source_label if row.source == "published" else ""


def _drawn(row: BoardRow, quantity: Quantity, labels: Mapping[ProbeModel, str], *, mixed: bool) -> CodecResult:
    result = replace(row.result, family=chart_family(row)) if mixed else row.result
    if quantity.key not in APPLICATIONS:
        return result
    found = row.applications.get(quantity.key)
    if labels and found is not None and row.source != "published":  # of a table the family names the source already
        result = replace(result, family=f"{result.family} ({labels[found.model]})")
    metrics = {quantity.key: application_value(row, quantity.key)}
    # whatever else was run on the codec; of a figure over several datasets those that take part
    parts = set() if found is None else parts_of(found.numbers, result.summary.datasets)
    on = tuple(sorted({name for name, _ in parts}))
    if found is not None and found.codec != result.codec:
        result = replace(result, states={})  # of a table, which the row takes over
    elif found is not None:
        result = at_rates_of(found, result)
    said = result.source if found is None else figure_label(result.source, found)
    summary = result.summary.model_copy(update={"metrics": metrics, "datasets": on})
    return replace(result, summary=summary, source=said)
