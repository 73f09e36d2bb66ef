"""Applications on the page that compares codecs: a table for each figure, the original sound above the codecs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from codec_superb.web.application_rows import original_of, warning
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import Quantity
from codec_superb.web.report.application_details import signed
from codec_superb.web.rows import ApplicationRow, ProbeModel, own_word_label
from codec_superb.web.site.cells import Row, TextCell, TextTable
from codec_superb.web.site.compare.view import ComparedApplication, ComparedCodec, Comparison
from codec_superb.web.text import interval


def application_table(comparison: Comparison, model: tuple[str, str, str]) -> TextTable:
    """Put the figures of one dataset and model side by side: a row a figure, a column a codec."""
    parts = [part for part in comparison.applications if _place(part) == model]
    codecs = [codec for codec in comparison.codecs if any(_has(part, codec.name) for part in parts)]
    dataset, backend, sha256 = model
    where = f"On {dataset}" if dataset else "Over several datasets"
    heads = (
        TextCell("Figure"),
        TextCell("Original sound"),
        *(TextCell(codec.title, _said(codec, parts)) for codec in codecs),
    )
    rows = tuple(_row(part, codecs) for part in parts)
    return TextTable(f"{where}, by {backend}{f' ({sha256[:12]})' if sha256 else ''}", heads, rows)


def application_tables(comparison: Comparison) -> list[TextTable]:
    """Make a table for each dataset and model."""
    return [application_table(comparison, model) for model in dict.fromkeys(map(_place, comparison.applications))]


def _place(part: ComparedApplication) -> tuple[str, str, str]:
    return part.dataset, part.model, part.model_sha256


def _has(part: ComparedApplication, codec: str) -> bool:
    return any(figure.codec == codec for figure in part.codecs)


def _said(codec: ComparedCodec, parts: Sequence[ComparedApplication]) -> str:
    """Say on whose word a column stands: its codec's badge may cover some of its figures, which the others say."""
    again = {figure.run_again for part in parts for figure in part.codecs if figure.codec == codec.name}
    if again == {False}:
        return own_word_label(codec.submitter)
    return codec.source if again == {True} else f"{codec.source}, but for what was not run again"


def _row(part: ComparedApplication, codecs: Sequence[ComparedCodec]) -> Row:
    quantity = APPLICATIONS[part.figure]
    sent = {codec.name: _sent(part, codec) for codec in codecs if _has(part, codec.name)}
    original = original_of(sent.values())
    direction = "higher is better" if quantity.higher_is_better else "lower is better"
    small = f"{quantity.unit}, {direction}" if quantity.unit else direction
    rows = [row for row, _ in sent.values()]
    cells = [
        _cell(sent[codec.name][0], rows, quantity) if codec.name in sent else TextCell("–", "another model, or none")
        for codec in codecs
    ]
    ceiling = TextCell(quantity.write(original.numbers.reference.value if original else None))
    return (TextCell(quantity.label, small, f"/metrics#{part.figure}"), ceiling, *cells)


def _sent(part: ComparedApplication, codec: ComparedCodec) -> tuple[ApplicationRow, str]:
    """Return a codec's figure beside its sender: each verified one is one for what was run again."""
    found = next(figure for figure in part.codecs if figure.codec == codec.name)
    own_word = "" if found.run_again else own_word_label(codec.submitter)
    model = ProbeModel(part.model, part.model_sha256)
    row = ApplicationRow(codec.name, found.numbers, model, math.nan, own_word=own_word)
    again = codec.status == "verified" and found.run_again
    return row, f"verified:{codec.name}" if again else codec.submitter


def _cell(found: ApplicationRow, beside: Sequence[ApplicationRow], quantity: Quantity) -> TextCell:
    numbers, value = found.numbers, found.numbers.resynthesis
    ends = interval(value.low, value.high, quantity.decimals)
    loss = f"{ends} loss {signed(numbers.loss, quantity)}".strip()
    return TextCell(quantity.write(value.value), loss, None, warning(found, beside))
