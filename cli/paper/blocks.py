"""Results as the blocks of a paper's table, and ranked over datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from codec_superb.cli.report_data import applications_of, result_of
from codec_superb.metrics.results import BitSource
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.aggregates.summary import summarise_dataset
from codec_superb.pipeline.comparison.codecs import ranked_source
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.friedman import mean_ranks
from codec_superb.pipeline.statistics.ranks import Rank, Ranking
from codec_superb.web.applications import application_of
from codec_superb.web.paper.columns import Block, with_figure
from codec_superb.web.paper.ranks import RankRow, RankSummary
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ApplicationRow, CodecResult

By = Literal["category", "dataset"]


def paper_blocks(
    results: Sequence[Results],
    rankings: Mapping[Category, Ranking],
    by: By = "category",
    only: Category | None = None,
) -> list[Block]:
    """Make a block for each category (``by`` dataset: of each dataset), clean results first, then by condition."""
    conditions = sorted({entry.condition.label if entry.condition else "" for entry in results})
    categories = [category for category in CATEGORIES if only in {None, category}]
    blocks = []
    for condition in conditions:
        entries = [entry for entry in results if (entry.condition.label if entry.condition else "") == condition]
        apart = _apart(entries)
        for category in categories:
            ranks = {rank.codec: rank for rank in rankings[category].ranks} if category in rankings else {}
            for datasets, rows in _parts(entries, category, {} if condition else ranks, by):
                figures = [
                    row for entry in entries for row in applications_of(entry) if _concerns(row, category, datasets, by)
                ]
                blocks.append(Block(category, datasets, rows, condition, figures, apart))
    return blocks


def _parts(
    entries: Sequence[Results], category: Category, ranks: Mapping[str, Rank], by: By
) -> Iterator[tuple[tuple[str, ...], list[CodecResult]]]:
    """Give the datasets of each block of a category, and its rows."""
    found = [(entry, of) for entry in entries for of in entry.aggregates.categories if of.category == category]
    if by == "category" and found:
        rows = [result_of(entry, of, ranks.get(entry.card.name)) for entry, of in found]
        yield tuple(sorted({name for row in rows for name in row.summary.datasets})), rows
        return
    for name in sorted({name for _, of in found for name in of.datasets}):
        rows = []
        for entry, of in found:
            whole = result_of(entry, of, None)
            parts = [part for part in entry.aggregates.datasets if (part.dataset, part.category) == (name, category)]
            rows += [whole.on(summarise_dataset(part)) for part in parts]
        yield (name,), rows


def _concerns(row: ApplicationRow, category: Category, datasets: Sequence[str], by: By) -> bool:
    """Whether a figure belongs to a block: its dataset, and a probe that looks at clips of the category."""
    probe = application_of(row.numbers.figure).probe
    here = row.numbers.dataset in datasets or (by == "category" and not row.numbers.dataset)
    return here and (probe is None or category in probe.categories)


def _apart(results: Sequence[Results]) -> frozenset[str]:
    """Name the codecs that were run on other clips of a dataset than most; ``results`` has each once."""
    states: dict[str, dict[str, tuple[str, int]]] = {}
    for entry in results:
        for of in entry.datasets:
            states.setdefault(of.info.name, {})[entry.card.name] = of.info.manifest_hash, of.info.selected
    other = set()
    for found in states.values():
        counts = Counter(found.values())
        usual = max(sorted(counts), key=lambda state: counts[state])
        other |= {name for name, state in found.items() if state != usual}
    return frozenset(other)


def ranks_over_datasets(results: Sequence[Results], quantity: Quantity, only: Category | None = None) -> RankSummary:
    """Rank lossy codecs by ``quantity`` on each category of each dataset, clean runs alone.

    A codec that lacks a value, or of which clips failed or are others, is left out with the reason, and so is one whose
    bits nobody counted, among codecs with measured ones, or that states no bitrate, among those that do.
    Raises PipelineError for fewer than three codecs or two datasets.
    """
    clean = [entry for entry in results if entry.condition is None]
    parts = [with_figure(part, quantity) for part in paper_blocks(clean, {}, "dataset", only)]
    blocks = [block for block in parts if any(_value(row, quantity) is not None for row in block.results)]
    several = len({block.category for block in blocks}) > 1
    names = [f"{block.datasets[0]} ({block.category})" if several else block.datasets[0] for block in blocks]
    by_codec: dict[str, dict[str, CodecResult]] = {}
    for name, block in zip(names, blocks, strict=True):
        for row in block.results:
            by_codec.setdefault(row.codec, {})[name] = row
    ranked = ranked_source({row.bit_source for block in blocks for row in block.results if not row.lossless})
    apart = _apart(clean)
    left_out = {
        codec: reason
        for codec, rows in sorted(by_codec.items())
        if (reason := _unfit(rows, names, quantity, ranked, codec in apart))
    }
    kept = [codec for codec in sorted(by_codec) if codec not in left_out]
    values = [[_value(by_codec[codec][name], quantity) for codec in kept] for name in names]
    table = np.array(values, dtype=np.float64).reshape(len(names), len(kept))
    told = tuple(f"{codec} ({reason})" for codec, reason in left_out.items())
    try:
        found = mean_ranks(table, kept, names, higher_is_better=quantity.higher_is_better)
    except PipelineError as error:
        raise PipelineError(f"{error}; left out: {', '.join(told)}") if told else error from None
    titles = {codec: next(iter(rows.values())).title for codec, rows in by_codec.items()}
    return RankSummary(
        quantity=quantity.label,
        datasets=found.datasets,
        rows=tuple(RankRow(of.name, titles[of.name], of.mean_rank, of.ranks) for of in found.systems),
        chi_square=found.chi_square, p=found.p, f=found.f, p_f=found.p_f, kendall_w=found.kendall_w,
        alpha=found.alpha, critical_difference=found.critical_difference, groups=found.groups, rough=found.rough,
        left_out=told,
    )  # fmt: skip


def _unfit(
    rows: Mapping[str, CodecResult], names: Sequence[str], quantity: Quantity, ranked: BitSource, apart: bool
) -> str:
    """Return why a codec cannot be ranked over all datasets; '' where it can."""
    if any(row.lossless for row in rows.values()):
        return "lossless: a ceiling"
    if apart:
        return "run on other clips than most"
    for name in names:
        if name not in rows:
            return f"not run on {name}"
        if rows[name].summary.failed:
            return f"clips failed on {name}"
        if _value(rows[name], quantity) is None:
            return f"no value on {name}"
    return next((row.uncounted for row in rows.values() if row.bit_source != ranked), "")


def _value(row: CodecResult, quantity: Quantity) -> float | None:
    found = quantity.of(row)
    return None if found is None else found.mean
