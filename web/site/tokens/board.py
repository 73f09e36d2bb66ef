"""Codecs by their tokens on one dataset: rates in three forms, then each figure of the probes with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isnan

from codec_superb.web.application_rows import warning
from codec_superb.web.applications import APPLICATION_METRICS
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import MISSING, interval, kbps, number

GROUP, CONTENTS = "tokens", "contents"
"""Of the probes whose figures stand here, in a table each."""
ENTROPY_KBPS = "tokens_entropy_kbps"
Tokens = tuple[CodecResult, Mapping[str, ApplicationRow]]
"""A codec with its figures of tokens on one dataset, by key."""
Columns = Mapping[str, Sequence[ApplicationRow]]
"""The rows of each figure, of all codecs."""


def is_of_tokens(row: ApplicationRow) -> bool:
    """Whether a row is a figure of tokens over all clips of its dataset."""
    found = APPLICATION_METRICS.get(row.numbers.figure)
    probe = found.probe if found else None
    return probe is not None and probe.group in (GROUP, CONTENTS) and not row.numbers.slice


def columns(codecs: Sequence[Tokens], group: str = GROUP) -> list[str]:
    """Return the keys of a group's figures that a codec has a value of, in the order of the table of probes."""
    there = {key for _, rows in codecs for key, row in rows.items() if row.numbers.resynthesis.value is not None}
    return [key for key, of in APPLICATION_METRICS.items() if key in there and of.probe and of.probe.group == group]


def quantity_of(key: str) -> Quantity:
    """Return how a figure is written."""
    return APPLICATION_METRICS[key].quantity


def tokens_table(dataset: str, codecs: Sequence[Tokens]) -> TextTable:
    """Make the table, fewest tokens a second first."""
    keys = columns(codecs)
    shown = [key for key in keys if key != ENTROPY_KBPS]
    heads = (
        TextCell("Codec"), TextCell("Tokens/s"), TextCell("kbps", "measured, nominal below"),
        TextCell("Entropy-coded kbps"), *(TextCell(_short(key), _direction(key)) for key in shown),
    )  # fmt: skip
    beside = _columns(codecs)
    lines = [_line(result, rows, shown, beside) for result, rows in sorted(codecs, key=_order)]
    return TextTable(f"On {dataset}; in brackets 95 % intervals by clusters of clips", heads, tuple(lines))


def contents_table(dataset: str, codecs: Sequence[Tokens]) -> TextTable:
    """Make the table of what tokens carry, a line for each figure, since there are more of them than codecs."""
    carrying = [codec for codec in sorted(codecs, key=_order) if columns([codec], CONTENTS)]
    heads = (TextCell("Figure"), *(_name(result) for result, _ in carrying))
    beside = _columns(carrying)
    lines = tuple(
        (TextCell(_short(key), _direction(key)), *(_cell(rows.get(key), key, beside) for _, rows in carrying))
        for key in columns(carrying, CONTENTS)
    )
    return TextTable(f"On {dataset}; in brackets 95 % intervals by clusters of clips", heads, lines)


def _name(result: CodecResult) -> TextCell:
    return TextCell(result.title, result.source, f"/codecs/{result.codec}")


def _short(key: str) -> str:
    """Return a figure's name without that of its probe, which the page is about."""
    return quantity_of(key).title.rpartition(": ")[2]


def _order(codec: Tokens) -> tuple[float, str]:
    tokens = codec[0].summary.tokens_per_second
    return (inf if tokens is None else tokens, codec[0].codec)


def _direction(key: str) -> str:
    return "higher is better" if quantity_of(key).higher_is_better else "lower is better"


def _columns(codecs: Sequence[Tokens]) -> Columns:
    found: dict[str, list[ApplicationRow]] = {}
    for _, rows in codecs:
        for key, row in rows.items():
            found.setdefault(key, []).append(row)
    return found


def _line(
    result: CodecResult, rows: Mapping[str, ApplicationRow], keys: Sequence[str], beside: Columns
) -> tuple[TextCell, ...]:
    tokens = result.summary.tokens_per_second
    nominal = "" if result.nominal_kbps is None else f"{kbps(result.nominal_kbps)} nominal"
    return (
        _name(result),
        TextCell(MISSING if tokens is None else number(tokens, 1)),
        TextCell(MISSING if isnan(result.kbps) else kbps(result.kbps), nominal),
        _cell(rows.get(ENTROPY_KBPS), ENTROPY_KBPS, beside),
        *(_cell(rows.get(key), key, beside) for key in keys),
    )


def _cell(row: ApplicationRow | None, key: str, beside: Columns) -> TextCell:
    if row is None or row.numbers.resynthesis.value is None:
        return TextCell(MISSING, "none to compare")
    found, quantity = row.numbers.resynthesis, quantity_of(key)
    told = warning(row, beside[key])
    return TextCell(quantity.write(found.value), interval(found.low, found.high, quantity.decimals), None, told)
