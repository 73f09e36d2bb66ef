"""The columns of a paper's table, chosen by the keys of the report's ranking, of metrics and of applications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final

from codec_superb.applications.errors import UnknownApplication
from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import Category, Metric
from codec_superb.web.applications import application_of
from codec_superb.web.errors import PaperError
from codec_superb.web.quantity import SCORE, Quantity, from_metric
from codec_superb.web.report.columns import RankingColumn, value_columns
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel

Fill = Callable[[CodecResult], "Value"]


@dataclass(frozen=True, slots=True)
class Value:
    """What a column has of one codec."""

    text: str
    """As the report writes it, without interval; a dash where there is none."""
    number: float | None = None
    """With all digits; None for a text and for a value that is missing."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    """Upper end."""
    partial: bool = False
    """Whether clips failed that other codecs have in it."""


MISSING_VALUE: Final = Value("–")


@dataclass(frozen=True, slots=True)
class PaperColumn:
    """One column."""

    key: str
    label: str
    unit: str
    fill: Fill
    quantity: Quantity | None = None
    """None for a column without a best end: names, bitrates, counts."""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """The part of a table whose rows are compared: one category, over its datasets or on one, under one condition."""

    category: Category
    datasets: tuple[str, ...]
    results: Sequence[CodecResult]
    condition: str = ""
    """'' for clean results."""
    applications: Sequence[ApplicationRow] = field(default_factory=tuple)
    """Figures of these codecs on these datasets."""
    apart: frozenset[str] = frozenset()
    """Codecs that were run on other clips of a dataset than most."""


def block_columns(block: Block, keys: Sequence[str], table: Mapping[str, Metric]) -> list[PaperColumn]:
    """Make the columns ``keys`` for a block; those that no row of it fills are left out.

    A figure of an application becomes a column for each dataset and model. Raises PaperError for an unknown key.
    """
    made = [column for key in keys for column in _columns(block, key, table)]
    return [column for column in made if any(column.fill(row) != MISSING_VALUE for row in block.results)]


def with_figure(block: Block, quantity: Quantity) -> Block:
    """Put a figure of an application among the metrics of a block's codecs, for charts and ranks.

    A block that has no such figure, because it is a metric or nobody measured it, stays as it is.
    Raises PaperError where it is of several datasets or by several models.
    """
    found = [row for row in block.applications if row.numbers.figure == quantity.key and not row.numbers.slice]
    if not found:
        return block
    if len({(row.numbers.dataset, row.model) for row in found}) > 1:
        raise PaperError(
            f"{quantity.key}: expected one dataset and one model in a part, got several: choose runs of one model, "
            "and --by dataset"
        )
    values = {row.codec: row.value for row in found}
    results = [
        row.on(row.summary.model_copy(update={"metrics": row.summary.metrics | {quantity.key: values[row.codec]}}))
        for row in block.results
        if row.codec in values
    ]
    return replace(block, results=results)


def usual_columns(blocks: Sequence[Block], table: Mapping[str, Metric]) -> tuple[str, ...]:
    """Name the usual columns: codec, bitrate, score, and the metrics that are part of the score somewhere."""
    categories = {block.category for block in blocks}
    return ("codec", "kbps", SCORE.key, *(key for key, row in table.items() if categories & set(row.overall)))


def _columns(block: Block, key: str, table: Mapping[str, Metric]) -> list[PaperColumn]:
    named = _NAMES.get(key)
    if named is not None:
        label, field_of = named
        return [PaperColumn(key, label, "", lambda row: Value(field_of(row)), is_text=True)]
    if key == SCORE.key:
        return [_quantity_column(SCORE)]
    if key in table:
        return [_quantity_column(from_metric(table[key]))]
    plain = {column.key: column for column in _plain_columns()}
    if key in plain:
        return [_plain_column(plain[key])]
    try:
        quantity = application_of(key).quantity
    except UnknownApplication:
        known = [*_NAMES, SCORE.key, *plain, *table]
        near = ", ".join(get_close_matches(key, known, n=3))
        raise PaperError(
            f"expected columns by key, got {key!r}{f'; did you mean {near}?' if near else ''} (known: "
            f"{', '.join(known)}, and the figures that `applications` lists)"
        ) from None
    return _application_columns(block, key, quantity)


_NAMES: dict[str, tuple[str, Callable[[CodecResult], str]]] = {
    "codec": ("Codec", lambda row: row.title),
    "name": ("Name", lambda row: row.codec),
    "family": ("Family", lambda row: row.family),
}
"""Columns of text: their labels, and what stands in them."""


def _plain_columns() -> list[RankingColumn]:
    """Return the report's columns of numbers that are no metric."""
    return [column for column in value_columns([], {SCORE.key: ""}) if column.key != SCORE.key]


def _plain_column(column: RankingColumn) -> PaperColumn:
    def fill(row: CodecResult) -> Value:
        cell = column.fill(row)
        if not cell.sort:
            return MISSING_VALUE
        if column.key == "rank":  # a range, whose sort key is no number of the results
            return Value(cell.text)
        # the report's "30 ok" is a number in a paper
        return Value(cell.text.removesuffix(" ok"), float(cell.sort))

    return PaperColumn(column.key, column.label, column.unit, fill)


def _quantity_column(quantity: Quantity) -> PaperColumn:
    def fill(row: CodecResult) -> Value:
        return _value(quantity.of(row), quantity)

    return PaperColumn(quantity.key, _short(quantity), quantity.unit, fill, quantity)


def _short(quantity: Quantity) -> str:
    return "Score" if quantity.key == SCORE.key else quantity.label


def _value(estimate: Estimate | None, quantity: Quantity) -> Value:
    if estimate is None or estimate.mean is None:
        return MISSING_VALUE
    text = quantity.write(estimate.mean)
    return Value(text, estimate.mean, estimate.low, estimate.high, partial=estimate.failed > 0)


def _application_columns(block: Block, key: str, quantity: Quantity) -> list[PaperColumn]:
    found = [row for row in block.applications if row.numbers.figure == key and not row.numbers.slice]
    places = list(dict.fromkeys((row.numbers.dataset, row.model) for row in found))
    datasets, models = {dataset for dataset, _ in places}, {model.name for _, model in places}
    columns = []
    for dataset, model in places:
        told = [quantity.label]
        if len(datasets) > 1:
            told.append(f"on {dataset or 'all'}")
        if len(models) > 1:
            told.append(f"by {model.name}")
        values = {row.codec: row for row in found if (row.numbers.dataset, row.model) == (dataset, model)}
        columns.append(PaperColumn(
            _column_key(key, dataset, model, many=(len(datasets) > 1, len(models) > 1)),
            ", ".join(told), quantity.unit, _application_fill(values, quantity), quantity,
        ))  # fmt: skip
    return columns


def _column_key(key: str, dataset: str, model: ProbeModel, many: tuple[bool, bool]) -> str:
    return ":".join([key, *([dataset] if many[0] else []), *([model.name] if many[1] else [])])


def _application_fill(values: Mapping[str, ApplicationRow], quantity: Quantity) -> Fill:
    def fill(row: CodecResult) -> Value:
        return _value(values[row.codec].value if row.codec in values else None, quantity)

    return fill
