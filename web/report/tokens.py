"""The section on tokens of the report: for each codec a table of all counts by codebook, and the drift of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codec_superb.applications.tokens.table import DISTURBANCES
from codec_superb.metrics.results import Score
from codec_superb.metrics.table import METRICS
from codec_superb.web.quantity import from_metric
from codec_superb.web.rows import CodecResult, CountRow
from codec_superb.web.text import MISSING, interval, number

_ALL = "all"
_BITS = {
    "unigram": "entropy", "after": "entropy given the frame before", "beside": "entropy given the codebook before",
    "coded": "entropy-coded",
}  # fmt: skip
Cell = tuple[str, str]
"""Text, and a quieter line below it."""


@dataclass(frozen=True, slots=True)
class TokenTable:
    """One table."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def token_tables(counts: Sequence[CountRow], results: Sequence[CodecResult]) -> list[TokenTable]:
    """Return two tables for each codec and dataset: counts by codebook, metrics by codings; none without counts."""
    titles = {result.codec: result.title for result in results}
    groups: dict[tuple[str, str], dict[str, Score]] = {}
    for row in counts:
        groups.setdefault((row.codec, row.dataset), {})[row.name] = row.score
    found = []
    for (codec, dataset), scores in groups.items():
        title = f"{titles.get(codec, codec)} – {dataset}"
        books = sorted({int(name.rpartition(":")[2]) for name in scores if name.startswith(("chance:", "use:")) and
                        not name.endswith(_ALL)})  # fmt: skip
        found.append(TokenTable(title, ("", _ALL, *map(str, books)), tuple(_lines(scores, books))))
        if any(name.startswith("drift:") for name in scores):
            found.append(_drift(f"{title}: metrics after each coding", scores))
    return found


def _lines(scores: dict[str, Score], books: Sequence[int]) -> list[tuple[str, tuple[Cell, ...]]]:
    wanted = [(f"same: {row.label}", f"match:{row.key}", "%") for row in DISTURBANCES.values()]
    wanted += [("same: by chance", "chance", "%"), ("entries used", "use", "%")]
    wanted += [(f"{words}, of log2 K", f"bits:{key}", "%") for key, words in _BITS.items()]
    wanted += [(f"{_BITS[key]}: too low by", f"bias:{key}", "bit") for key in ("unigram", "after", "beside")]
    lines = []
    for label, name, unit in wanted:
        cells = tuple(_cell(scores.get(f"{name}:{book}"), unit) for book in (_ALL, *books))
        if any(text != MISSING for text, _ in cells):
            lines.append((label, cells))
    edits = [(row.label, scores[f"edits:{row.key}"]) for row in DISTURBANCES.values() if f"edits:{row.key}" in scores]
    lines += [(f"edits: {label}", (_NONE, _cell(score, "%"), *(_NONE,) * (len(books) - 1))) for label, score in edits]
    return lines


def _drift(title: str, scores: dict[str, Score]) -> TokenTable:
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
