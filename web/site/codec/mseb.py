"""MSEB's super tasks on a codec's page: the eight spokes in numbers, and locales × conditions."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from codec_superb.metrics.results import Score
from codec_superb.web.application_rows import warning
from codec_superb.web.mseb.choose import Spoke, is_mseb, scale_words, spokes_of
from codec_superb.web.mseb.heat import POOLED, HeatMap, heat_maps
from codec_superb.web.quantity import Quantity
from codec_superb.web.report.application_details import signed
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import MISSING, interval

_HEADS = (
    TextCell("Super task"), TextCell("Original sound"), TextCell("Resynthesis"), TextCell("Loss"),
    TextCell("True transcripts"), TextCell("Clips"), TextCell("Model"), TextCell("Place on the spoke"),
)  # fmt: skip


def spokes_table(rows: Sequence[ApplicationRow]) -> TextTable:
    """Make the table of the spokes, a line a super task, whether it was measured or not."""
    caption = "The spokes in numbers; in brackets 95 % intervals"
    return TextTable(caption, _HEADS, tuple(map(_line, spokes_of(rows))))


def measured(rows: Sequence[ApplicationRow]) -> list[str]:
    """Name the super tasks that were measured."""
    return [spoke.task for spoke in spokes_of(rows) if spoke.row]


def heat_choices(rows: Sequence[ApplicationRow], address: str) -> list[tuple[str, str]]:
    """Give the addresses of the heat maps and their names: what a picker of charts takes."""
    found = []
    for heat in heat_maps(rows):
        for shown, words in (("value", ""), ("loss", "loss of ")):
            query = urlencode([("figure", heat.quantity.key), ("model", heat.model), ("shown", shown)])
            found.append((f"{address}?{query}", f"{words}{heat.quantity.title}, {heat.model}"))
    return [(url, f"{name[0].upper()}{name[1:]}") for url, name in found]


def heat_tables(rows: Sequence[ApplicationRow]) -> list[TextTable]:
    """Make the tables of the heat maps."""
    return [_heat_table(heat) for heat in heat_maps(rows)]


def without_mseb(rows: Sequence[ApplicationRow]) -> list[ApplicationRow]:
    """Return the rows of all other probes."""
    return [row for row in rows if not is_mseb(row)]


def of_mseb(rows: Sequence[ApplicationRow]) -> list[ApplicationRow]:
    """Return the rows of MSEB's probes."""
    return [row for row in rows if is_mseb(row)]


def _line(spoke: Spoke) -> tuple[TextCell, ...]:
    row, quantity = spoke.row, spoke.quantity
    if row is None or quantity is None:
        return (TextCell(spoke.task.capitalize(), "not measured"), *(TextCell(MISSING) for _ in _HEADS[1:]))
    numbers = row.numbers
    direction = "higher is better" if quantity.higher_is_better else "lower is better"
    where = numbers.dataset or "all locales"
    left_out = f"{numbers.left_out} left out" if numbers.left_out else ""
    loss = TextCell(
        signed(numbers.loss, quantity, ends=False), interval(numbers.loss.low, numbers.loss.high, quantity.decimals)
    )
    return (
        TextCell(spoke.task.capitalize(), f"{quantity.title}, {direction}", f"/metrics#{numbers.figure}"),
        _score(numbers.reference, quantity),
        _score(numbers.resynthesis, quantity),
        loss,
        TextCell(MISSING) if spoke.oracle is None else _score(spoke.oracle, quantity),
        TextCell(f"{numbers.n:,}", f"{where}{f', {left_out}' if left_out else ''}", None, warning(row)),
        TextCell(row.model.backend, row.model.sha256[:12]),
        TextCell(scale_words(quantity)),
    )


def _score(score: Score, quantity: Quantity) -> TextCell:
    return TextCell(quantity.write(score.value), interval(score.low, score.high, quantity.decimals))


def _heat_table(heat: HeatMap) -> TextTable:
    heads = (TextCell("Dataset"), *(TextCell(name.replace("_", " ") or POOLED) for name in heat.slices))
    rows = tuple(
        (TextCell(dataset), *(_heat_cell(row, heat.quantity) for row in line))
        for dataset, line in zip(heat.datasets, heat.cells, strict=True)
    )
    return TextTable(f"{heat.quantity.title}, {heat.model}: original → resynthesis, loss", heads, rows)


def _heat_cell(row: ApplicationRow | None, quantity: Quantity) -> TextCell:
    if row is None:
        return TextCell(MISSING, "not measured")
    numbers = row.numbers
    text = f"{quantity.write(numbers.reference.value)} → {quantity.write(numbers.resynthesis.value)}"
    return TextCell(text, f"{signed(numbers.loss, quantity)}, n = {numbers.n}")
