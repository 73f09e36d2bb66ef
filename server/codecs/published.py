"""A codec's figures in published tables, with their source; never mixed with figures measured here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from codec_superb.metrics.table import CATEGORIES, METRICS
from codec_superb.pipeline.literature.records import PublishedCodec, PublishedTable
from codec_superb.pipeline.literature.tables import literature, published_as
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE, Quantity, from_metric
from codec_superb.web.site.cells import Row, TextCell, TextTable
from codec_superb.web.site.codec.view import CodecView, Fact, Mark, PublishedView
from codec_superb.web.text import kbps

Published = tuple[PublishedTable, PublishedCodec]


def published_names() -> list[str]:
    """List the ids of all published codecs."""
    return [codec.id for table in literature() for codec in table.codecs]


def entries_of(name: str, family: str | None = None) -> list[Published]:
    """Find the rows of tables that are this very configuration; ``family`` is a measured codec's.

    For a measured codec these are the rows that name it (``runs_as``), unless it only shares the name of the
    catalogue's codec and is of another family. A name without measured results may also be the id of a row (a dot
    counts as an underscore), which leads to the rows that are the same as it.
    """
    ours = list(published_as(name, family))
    if family is not None:
        return ours
    every = [(table, codec) for table in literature() for codec in table.codecs]
    own = [(table, codec) for table, codec in every if _folded(codec.id) == _folded(name)]
    ids = {codec.id for _, codec in own} | {codec.same_as for _, codec in own if codec.same_as}
    return [(table, codec) for table, codec in every if codec.id in ids or codec.same_as in ids] or ours


def _folded(name: str) -> str:
    return name.replace(".", "_")


def published_views(entries: Iterable[Published]) -> list[PublishedView]:
    """Describe each table's figures."""
    return [
        PublishedView(
            id=codec.id, label=table.label, configuration=codec.configuration, citation=table.citation, url=table.url,
            statement=table.statement, differs=table.differs, figures=_figure_tables(table, codec),
            applications=_application_tables(table, codec),
        )
        for table, codec in entries
    ]  # fmt: skip


def published_page(entries: Sequence[Published], name: str) -> CodecView:
    """Make the view of a codec without a submission, from published tables alone."""
    own = next((codec for _, codec in entries if _folded(codec.id) == _folded(name)), entries[0][1])
    sources = " and ".join(dict.fromkeys(table.label for table, _ in entries))
    return CodecView(
        name=own.id,
        title=own.name,
        family=own.family,
        summary=f"Known here from {sources} alone.",
        marks=[Mark("published, not re-run here", "Nobody has submitted results of it; the figures are a paper’s.")],
        submission=None,
        card=_facts([codec for _, codec in entries], own),
        published=published_views(entries),
    )


def _facts(codecs: Sequence[PublishedCodec], own: PublishedCodec) -> list[Fact]:
    rate = next((codec.kbps for codec in codecs if codec.kbps is not None), None)
    sampling = next((codec.sampling_rate for codec in codecs if codec.sampling_rate is not None), None)
    ids = " and ".join(dict.fromkeys(codec.id for codec in codecs))
    return [
        Fact("Name", ids, "as the tables call it"),
        Fact("Family", own.family),
        Fact("Configuration", own.configuration),
        Fact("Bitrate", "not stated" if rate is None else f"{kbps(rate)} kbps", "as stated; not measured"),
        Fact("Sampling rate", "not stated" if sampling is None else f"{sampling:,} Hz"),
    ]


def _figure_tables(table: PublishedTable, codec: PublishedCodec) -> list[TextTable]:
    """List scores and metrics by category, and scores by dataset, as far as they are published."""
    found = []
    if codec.scores or codec.metrics:
        found.append(_by_category(table, codec))
    if sum(map(len, codec.dataset_scores.values())) > len(codec.scores):  # else they repeat the categories
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


def _application_tables(table: PublishedTable, codec: PublishedCodec) -> list[TextTable]:
    """List application metrics of the resyntheses: overall beside the original sound, and by dataset."""
    found = []
    if codec.applications:
        columns: dict[str, Mapping[str, float]] = {"Resynthesis": codec.applications}
        if table.ceiling:
            columns["Original sound"] = table.ceiling
        found.append(_application_table(f"{table.label}: applications", columns, codec.applications))
    if codec.dataset_applications:
        wanted = {key for values in codec.dataset_applications.values() for key in values}
        title = f"{table.label}: applications by dataset"
        found.append(_application_table(title, codec.dataset_applications, wanted))
    return found


def _application_table(caption: str, columns: Mapping[str, Mapping[str, float]], wanted: Iterable[str]) -> TextTable:
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
