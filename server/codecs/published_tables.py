"""The figures of one codec in a published table, as tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from codec_superb.metrics.table import CATEGORIES, METRICS
from codec_superb.pipeline.literature.records import PublishedCodec, PublishedTable
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE, Quantity, from_metric
from codec_superb.web.site.cells import Row, TextCell, TextTable


def figures(table: PublishedTable, codec: PublishedCodec) -> list[TextTable]:
    """List scores and metrics by category, and scores by dataset, as far as they are published."""
    found = []
    if codec.scores or codec.metrics:
        found.append(_by_category(table, codec))
    if sum(map(len, codec.dataset_scores.values())) > len(codec.scores):  # one dataset each would say the same again
        rows = [
            (TextCell(name, category), TextCell(SCORE.write(score)))
            for category in CATEGORIES
            for name, score in codec.dataset_scores.get(category, {}).items()
        ]
        heads = (TextCell("Dataset"), TextCell("Overall score"))
        found.append(TextTable(f"{table.label}: overall score by dataset", heads, tuple(rows)))
    return found


def _by_category(table: PublishedTable, codec: PublishedCodec) -> TextTable:
    categories = [category for category in CATEGORIES if category in codec.scores or category in codec.metrics]
    present = {key for means in codec.metrics.values() for key in means}
    note = "computed here from the published means" if table.computed_scores else ""
    rows: list[Row] = [(TextCell(SCORE.title, note), *_cells((codec.scores.get(each) for each in categories), SCORE))]
    for key, metric in METRICS.items():
        if key in present:
            quantity = from_metric(metric)
            values = (codec.metrics.get(each, {}).get(key) for each in categories)
            rows.append((_head(quantity), *_cells(values, quantity)))
    heads = (TextCell("Metric"), *(TextCell(each.capitalize()) for each in categories))
    return TextTable(f"{table.label}: figures by category", heads, tuple(rows))


def applications(table: PublishedTable, codec: PublishedCodec) -> list[TextTable]:
    """List what applications gave on the resyntheses: overall beside the original sound, and by dataset."""
    found = []
    if codec.applications:
        columns: dict[str, Mapping[str, float]] = {"Resynthesis": codec.applications}
        if table.ceiling:
            columns["Original sound"] = table.ceiling
        found.append(_applications(f"{table.label}: applications", columns, codec.applications))
    if codec.dataset_applications:
        wanted = {key for values in codec.dataset_applications.values() for key in values}
        title = f"{table.label}: applications by dataset"
        found.append(_applications(title, codec.dataset_applications, wanted))
    return found


def _applications(caption: str, columns: Mapping[str, Mapping[str, float]], wanted: Iterable[str]) -> TextTable:
    keys = set(wanted)
    rows = tuple(
        (_head(quantity), *_cells((values.get(key) for values in columns.values()), quantity))
        for key, quantity in APPLICATIONS.items()
        if key in keys
    )
    return TextTable(caption, (TextCell("Application"), *map(TextCell, columns)), rows)


def _head(quantity: Quantity) -> TextCell:
    return TextCell(quantity.title, "higher is better" if quantity.higher_is_better else "lower is better")


def _cells(values: Iterable[float | None], quantity: Quantity) -> list[TextCell]:
    return [TextCell(quantity.write(value)) for value in values]
