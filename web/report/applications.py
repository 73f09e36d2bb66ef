"""Application metrics of the report: for each dataset a table with the ceilings, and the details of each metric.

Figures are comparable within a group alone: one figure on one dataset, answered by one model under one definition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.web.applications import APPLICATION_METRICS, Application, application_of
from codec_superb.web.figures.across import TITLES, TOKENS, has_tokens, placed
from codec_superb.web.figures.application import Ceiling, drawn_result, with_ceilings
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.rate import rate_chart
from codec_superb.web.quantity import Quantity
from codec_superb.web.report.application_details import NumbersTable, model_facts, numbers_table, signed
from codec_superb.web.report.columns import Badge, Order
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel
from codec_superb.web.text import MISSING, count, interval
from codec_superb.web.theme import Style

ALL_DATASETS = "All datasets together"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that may be ranked together."""

    key: str
    """Names it on the page."""
    application: Application
    dataset: str
    """'' for a figure over several."""
    model: ProbeModel
    rows: tuple[ApplicationRow, ...]
    """Best first, those without a value behind."""

    @property
    def quantity(self) -> Quantity:
        """What it shows."""
        return self.application.quantity

    @property
    def largest(self) -> ApplicationAggregate:
        """Return the numbers over the most clips that any codec of the group has: their reference is the ceiling."""
        return max((row.numbers for row in self.rows), key=lambda numbers: numbers.n)

    @property
    def order(self) -> Order:
        """Order that puts the best first."""
        return "descending" if self.quantity.higher_is_better else "ascending"

    @property
    def title(self) -> str:
        """Figure, dataset and model: what a picker offers."""
        return f"{self.quantity.title} – {self.dataset or ALL_DATASETS}, {self.model.backend}"


@dataclass(frozen=True, slots=True)
class ApplicationCell:
    """One figure of one codec, or of the original sound."""

    text: str
    small: str = ""
    """Its interval."""
    loss: str = ""
    sort: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One codec."""

    name: str
    small: str
    badges: tuple[Badge, ...]
    cells: tuple[ApplicationCell, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """The details of one group."""

    key: str
    title: str
    application: Application
    model: ProbeModel
    numbers: NumbersTable

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Conditions of the measurement, as name-value pairs."""
        return model_facts(self.application, self.model)


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """The table of one dataset: a column a group, a row a codec."""

    dataset: str
    title: str
    groups: tuple[RowGroup, ...]
    ceilings: tuple[ApplicationCell, ...]
    lines: tuple[Line, ...]
    """By the first column, best first."""
    details: tuple[Detail, ...]
    """Details of each column."""


@dataclass(frozen=True, slots=True)
class ApplicationsPanel:
    """The whole section."""

    parts: tuple[DatasetPart, ...]
    figures: dict[str, Figure]
    """By group, as the page's script draws them."""
    figures_tokens: dict[str, Figure]
    """The same against tokens a second; none where no codec has tokens."""

    @property
    def groups(self) -> list[RowGroup]:
        """All of them, in order."""
        return [group for part in self.parts for group in part.groups]


def applications_panel(
    rows: Sequence[ApplicationRow], results: Sequence[CodecResult], styles: Mapping[str, Style]
) -> ApplicationsPanel:
    """Put the section together; every codec of ``rows`` has a result."""
    codecs: dict[str, CodecResult] = {}
    for result in results:
        codecs.setdefault(result.codec, result)
    groups = group_application_rows(rows)
    codecs_on = {name: max(len(each.rows) for each in groups if each.dataset == name) for name in _datasets(groups)}
    datasets = sorted(codecs_on, key=lambda name: (name != "", -codecs_on[name], name))
    return ApplicationsPanel(
        parts=tuple(_part(name, [each for each in groups if each.dataset == name], codecs) for name in datasets),
        figures={group.key: _figure(group, codecs, styles) for group in groups},
        figures_tokens={
            group.key: _figure(group, codecs, styles, TOKENS)
            for group in groups
            if any(has_tokens(codecs[row.codec]) for row in rows)
        },
    )


def _datasets(groups: Sequence[RowGroup]) -> set[str]:
    return {group.dataset for group in groups}


def group_application_rows(rows: Sequence[ApplicationRow]) -> list[RowGroup]:
    """Sort rows into groups, in the order of the table of figures; of one figure those with most codecs first.

    Figures of plug-ins come last.
    """
    found: dict[tuple[str, str, ProbeModel], list[ApplicationRow]] = defaultdict(list)
    for row in rows:
        found[row.numbers.figure, row.numbers.dataset, row.model].append(row)
    places = {key: place for place, key in enumerate(APPLICATION_METRICS)}

    def place(key: tuple[str, str, ProbeModel]) -> tuple[object, ...]:
        figure, dataset, model = key
        which = places.get(figure, len(places)), figure
        return *which, -len(found[key]), dataset, model.name, model.version, model.settings

    ordered = sorted(found, key=place)
    return [
        RowGroup(f"application-{at}", application_of(key[0]), key[1], key[2], tuple(_best_first(found[key])))
        for at, key in enumerate(ordered)
    ]


def _best_first(rows: Sequence[ApplicationRow]) -> list[ApplicationRow]:
    sign = -1 if application_of(rows[0].numbers.figure).quantity.higher_is_better else 1

    def place(row: ApplicationRow) -> tuple[bool, float, str]:
        value = row.numbers.resynthesis.value
        return value is None, sign * (value or 0.0), row.codec

    return sorted(rows, key=place)


def _figure(
    group: RowGroup, codecs: Mapping[str, CodecResult], styles: Mapping[str, Style], across: str = ""
) -> Figure:
    quantity, ceiling = group.quantity, group.largest.reference.value
    drawn = [placed(drawn_result(row, codecs[row.codec]), across) for row in group.rows]
    figure = rate_chart(drawn, quantity, styles, across=TITLES[across])
    ceilings = [] if ceiling is None else [Ceiling(group.model.backend, ceiling)]
    return with_ceilings(figure, quantity, ceilings)


def _part(dataset: str, groups: Sequence[RowGroup], codecs: Mapping[str, CodecResult]) -> DatasetPart:
    by_codec = [{row.codec: row for row in group.rows} for group in groups]
    titles = {name: result.title for name, result in codecs.items()}
    names = dict.fromkeys(row.codec for group in groups for row in group.rows)  # by the first group, best first
    return DatasetPart(
        dataset=dataset,
        title=f"On {dataset}" if dataset else ALL_DATASETS,
        groups=tuple(groups),
        ceilings=tuple(_ceiling_cell(group) for group in groups),
        lines=tuple(_line(codecs[name], [rows.get(name) for rows in by_codec], groups) for name in names),
        details=tuple(
            Detail(group.key, group.title, group.application, group.model, numbers_table(group.rows, titles))
            for group in groups
        ),
    )


def _ceiling_cell(group: RowGroup) -> ApplicationCell:
    found, quantity = group.largest.reference, group.quantity
    ends = interval(found.low, found.high, quantity.decimals)
    return ApplicationCell(quantity.write(found.value), ends, title=f"Over {count(group.largest.n, 'clip')}")


def _line(result: CodecResult, rows: Sequence[ApplicationRow | None], groups: Sequence[RowGroup]) -> Line:
    failed = max((row.numbers.failed for row in rows if row is not None), default=0)
    badges: tuple[Badge, ...] = ()
    if result.lossless:
        badges += (Badge("ceiling", "Lossless: the best that can be reached."),)
    if failed:
        text = f"{count(failed, 'clip')} failed: the figures rest on the others."
        badges += (Badge("incomplete", text, warning=True),)
    small = result.codec if result.codec != result.title else ""
    cells = tuple(_cell(row, group.quantity) for row, group in zip(rows, groups, strict=True))
    return Line(result.title, small, badges, cells)


def _cell(row: ApplicationRow | None, quantity: Quantity) -> ApplicationCell:
    if row is None:
        return ApplicationCell(MISSING, title="not computed with this model")
    numbers, value, loss = row.numbers, row.numbers.resynthesis, row.numbers.loss
    parts = [f"Over {count(numbers.n, 'clip')}"]
    parts += [f"{n} {what}" for n, what in ((numbers.left_out, "left out"), (numbers.failed, "failed")) if n]
    parts += [count(numbers.pairs, "pair")] if numbers.pairs else []
    parts += [f"loss {signed(loss, quantity)}"]
    return ApplicationCell(
        text=quantity.write(value.value),
        small=interval(value.low, value.high, quantity.decimals),
        loss=signed(loss, quantity, ends=False) if loss.value is not None else "",
        sort="" if value.value is None else repr(value.value),
        title=", ".join(parts),
    )
