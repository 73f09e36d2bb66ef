"""The section on tokens of the report: phones against speakers, then each codec's counts by codebook and its drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codec_superb.applications.tokens.table import DISTURBANCES
from codec_superb.metrics.results import Score
from codec_superb.metrics.table import METRICS
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.token_contents import contents_chart, contents_points
from codec_superb.web.quantity import from_metric
from codec_superb.web.rows import ApplicationRow, CodecResult, CountRow
from codec_superb.web.text import MISSING, interval, number

_ALL = "all"
_BITS = {
    "unigram": "entropy", "after": "entropy given the frame before", "beside": "entropy given the codebook before",
    "coded": "entropy-coded", "lm": "to a language model",
}  # fmt: skip
_KINDS = {"phone": "phones", "speaker": "speakers", "pitch": "pitch"}
_TOLD = [(f"{words} told{more}", f"{key}:{kind}", "%") for kind, words in _KINDS.items()
         for key, more in (("mi", ""), ("control", " by chance"), ("nmi", ", normalised"))]  # fmt: skip
_TOLD += [("phone purity", "pure:phone", "%"), ("cluster purity", "clustered:phone", "%")]
Cell = tuple[str, str]
"""Text, and a quieter line below it."""


@dataclass(frozen=True, slots=True)
class TokenTable:
    """One table."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class TokensPanel:
    """The whole section."""

    contents: tuple[tuple[str, str], ...]
    """Key and title of each picture of phones against speakers: one a dataset."""
    tables: tuple[TokenTable, ...]
    figures: dict[str, Figure]
    """By key, as the page's script draws them."""


def tokens_panel(
    rows: Sequence[ApplicationRow], counts: Sequence[CountRow], results: Sequence[CodecResult]
) -> TokensPanel | None:
    """Put the section together of figures over all clips and of counts; None without either."""
    groups: dict[str, dict[str, dict[str, ApplicationRow]]] = {}
    for row in rows:
        if row.numbers.dataset and not row.numbers.slice:
            groups.setdefault(row.numbers.dataset, {}).setdefault(row.codec, {})[row.numbers.figure] = row
    figures: dict[str, Figure] = {}
    contents: list[tuple[str, str]] = []
    for dataset, codecs in groups.items():
        there = {of.codec: of for of in reversed(results) if dataset in of.summary.datasets}
        if points := contents_points([(there[codec], own) for codec, own in codecs.items() if codec in there]):
            contents.append((f"tokens-contents-{len(contents)}", dataset))
            figures[contents[-1][0]] = contents_chart(points)
    tables = tuple(token_tables(counts, results))
    return TokensPanel(tuple(contents), tables, figures) if contents or tables else None


def token_tables(counts: Sequence[CountRow], results: Sequence[CodecResult]) -> list[TokenTable]:
    """Return the tables of each codec and dataset that have a row: what tokens are, carry, and metrics by codings."""
    titles = {result.codec: result.title for result in results}
    groups: dict[tuple[str, str], dict[str, Score]] = {}
    for row in counts:
        groups.setdefault((row.codec, row.dataset), {})[row.name] = row.score
    found = []
    for (codec, dataset), scores in groups.items():
        title = f"{titles.get(codec, codec)} – {dataset}"
        books = sorted({int(book) for name in scores if (book := name.rpartition(":")[2]).isdigit()
                        and not name.startswith("drift:")})  # fmt: skip
        heads = ("", _ALL, *map(str, books))
        found += [
            TokenTable(title, heads, tuple(_lines(scores, books))),
            TokenTable(f"{title}: what they carry", heads, tuple(_by_book(scores, books, _TOLD))),
            _drift(f"{title}: metrics after each coding", scores),
        ]
    return [table for table in found if table.rows]


def _lines(scores: Mapping[str, Score], books: Sequence[int]) -> list[tuple[str, tuple[Cell, ...]]]:
    wanted = [(f"same: {row.label}", f"match:{row.key}", "%") for row in DISTURBANCES.values()]
    wanted += [("same: by chance", "chance", "%"), ("entries used", "use", "%")]
    wanted += [(f"{words}, of log2 K", f"bits:{key}", "%") for key, words in _BITS.items()]
    wanted += [(f"{_BITS[key]}: too low by", f"bias:{key}", "bit") for key in ("unigram", "after", "beside")]
    lines = _by_book(scores, books, wanted)
    edits = [(row.label, scores[f"edits:{row.key}"]) for row in DISTURBANCES.values() if f"edits:{row.key}" in scores]
    lines += [(f"edits: {label}", (_NONE, _cell(score, "%"), *(_NONE,) * (len(books) - 1))) for label, score in edits]
    return lines


def _by_book(
    scores: Mapping[str, Score], books: Sequence[int], wanted: Sequence[tuple[str, str, str]]
) -> list[tuple[str, tuple[Cell, ...]]]:
    lines = []
    for label, name, unit in wanted:
        cells = tuple(_cell(scores.get(f"{name}:{book}"), unit) for book in (_ALL, *books))
        if any(text != MISSING for text, _ in cells):
            lines.append((label, cells))
    return lines


def _drift(title: str, scores: Mapping[str, Score]) -> TokenTable:
    named = [name.split(":")[1:] for name in scores if name.startswith("drift:")]
    codings = sorted({int(coding) for _, coding in named})
    keys = [key for key in METRICS if any(key == own for own, _ in named)]
    rows = tuple(
        (
            METRICS[key].label,
            tuple(_cell(scores.get(f"drift:{key}:{n}"), "", from_metric(METRICS[key]).decimals) for n in codings),
        )
        for key in keys
    )
    return TokenTable(title, ("", *(f"{n} ×" for n in codings)), rows)


_NONE: Cell = (MISSING, "")


def _cell(score: Score | None, unit: str, decimals: int | None = None) -> Cell:
    if score is None or score.value is None:
        return _NONE
    decimals = decimals if decimals is not None else 1 if unit == "%" else 3
    text = f"{number(score.value, decimals)}{f' {unit}' if unit else ''}"
    return text, interval(score.low, score.high, decimals)
