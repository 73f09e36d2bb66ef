"""Application metrics on a codec's page: a table for each dataset, and the settings of each model."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.metrics.results import Score
from codec_superb.web.application_rows import warning
from codec_superb.web.applications import APPLICATION_METRICS, APPLICATIONS
from codec_superb.web.quantity import Quantity
from codec_superb.web.report.application_details import model_facts, numbers_table, signed
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import count, interval


def application_tables(rows: Sequence[ApplicationRow]) -> list[TextTable]:
    """Make a table for each dataset: every figure on the original sound and on the resynthesis, and the loss."""
    datasets = sorted({row.numbers.dataset for row in rows}, key=lambda name: (name != "", name))
    return [_table(name, [row for row in in_order(rows) if row.numbers.dataset == name]) for name in datasets]


def in_order(rows: Sequence[ApplicationRow]) -> list[ApplicationRow]:
    """Order rows as the table of figures does, then by dataset."""
    places = {key: place for place, key in enumerate(APPLICATION_METRICS)}
    return sorted(rows, key=lambda row: (places[row.numbers.figure], row.numbers.dataset, row.model.name))


def _table(dataset: str, rows: Sequence[ApplicationRow]) -> TextTable:
    heads = ("Figure", "Original sound", "Resynthesis", "Loss", "Clips", "Model")
    caption = f"On {dataset}" if dataset else "Over several datasets"
    return TextTable(f"{caption}; in brackets 95 % intervals", tuple(map(TextCell, heads)), tuple(map(_row, rows)))


def _row(row: ApplicationRow) -> tuple[TextCell, ...]:
    numbers, quantity = row.numbers, APPLICATIONS[row.numbers.figure]
    direction = "higher is better" if quantity.higher_is_better else "lower is better"
    small = f"{quantity.unit}, {direction}" if quantity.unit else direction
    return (
        TextCell(quantity.label, small, f"/metrics#{numbers.figure}"),
        _score(numbers.reference, quantity),
        _score(numbers.resynthesis, quantity),
        TextCell(
            signed(numbers.loss, quantity, ends=False), interval(numbers.loss.low, numbers.loss.high, quantity.decimals)
        ),
        _clips(row),
        TextCell(
            row.model.backend, row.model.sha256[:12], warning="untrained (random) weights" if row.model.random else ""
        ),
    )


def _score(score: Score, quantity: Quantity) -> TextCell:
    return TextCell(quantity.write(score.value), interval(score.low, score.high, quantity.decimals))


def _clips(row: ApplicationRow) -> TextCell:
    numbers = row.numbers
    parts = [f"{numbers.left_out} left out"] if numbers.left_out else []
    parts += [count(numbers.pairs, "pair")] if numbers.pairs else []
    return TextCell(f"{numbers.n:,}", ", ".join(parts), warning=warning(row))


def counted_tables(rows: Sequence[ApplicationRow]) -> list[TextTable]:
    """Make a table of counted errors for each figure that counts some, a row a dataset."""
    made = []
    for key in dict.fromkeys(row.numbers.figure for row in in_order(rows) if row.numbers.totals):
        counted = [row for row in in_order(rows) if row.numbers.figure == key]
        names = {row.codec: "" for row in counted}
        numbers = numbers_table(counted, names, "Dataset")
        lines = [
            (TextCell(row.numbers.dataset), *map(TextCell, line[1:]))
            for row, line in zip(counted, numbers.rows, strict=True)
        ]
        caption = f"{APPLICATIONS[key].title}: original → resynthesis"
        made.append(TextTable(caption, tuple(map(TextCell, numbers.heads)), tuple(lines)))
    return made


def models(rows: Sequence[ApplicationRow]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Describe the conditions of each probe and model: a title, and name-value pairs."""
    found: dict[tuple[str, object], tuple[str, list[tuple[str, str]]]] = {}
    for row in in_order(rows):
        application = APPLICATION_METRICS[row.numbers.figure]
        title = application.probe.label if application.probe else application.quantity.label
        found.setdefault((title, row.model), (title, model_facts(application, row.model)))
    return list(found.values())
