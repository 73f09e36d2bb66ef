"""Renders the page of a comparison: rows of the chosen quantity, verdicts in words, addresses with all state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

from codec_superb.metrics.results import ResultSummary
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, overall_metrics
from codec_superb.web.figures.forest import ForestRow
from codec_superb.web.figures.rate import some_of
from codec_superb.web.quantity import SCORE_KEY, Quantity
from codec_superb.web.rows import Gap, Verdict
from codec_superb.web.site.compare.view import (
    ClipGap,
    CodecPair,
    ComparedCodec,
    Comparison,
    DatasetGap,
    MetricGap,
    RateGap,
    Standing,
    quantity_of,
    standings,
)
from codec_superb.web.text import MISSING, count

MARKS: Mapping[Verdict, str] = {"better": "▲", "worse": "▼", "unclear": "="}
WORDS: Mapping[Verdict, str] = {"better": "clearly better", "worse": "clearly worse", "unclear": "no clear difference"}
CLIPS_SHOWN = 5
_LISTENED_FIRST = ("pesq", "mel")
"""Metrics whose extreme clips are shown for the overall score, which single clips do not have."""


@dataclass(frozen=True, slots=True)
class GapLine:
    """One codec on one group of clips by the chosen quantity: a row of the table and of the figure."""

    group: str
    codec: str
    title: str
    n: int
    gap: Gap | None
    of: ComparedCodec
    counts: MetricGap | None = None
    """Wins, losses and ties; None for the overall score, which is no number of a single clip."""


@dataclass(frozen=True, slots=True)
class ClipLine:
    """One clip with a large difference, and where it is from."""

    dataset: str
    category: Category
    clip: ClipGap


@dataclass(frozen=True, slots=True)
class ClipLines:
    """The clips with the largest gains and losses of one codec, over all datasets."""

    codec: str
    gains: Sequence[ClipLine]
    losses: Sequence[ClipLine]


def file_name(found: Comparison) -> str:
    """Name files of the chart by what they show: the codecs, in which version."""
    return "-".join(f"{codec.name}-version-{codec.version}" for codec in found.codecs)


def compare_url(codecs: Sequence[str], path: str = "/compare", **state: str) -> str:
    """Write the address of a comparison; what is '' is left out."""
    fields = [("codec", name) for name in codecs] + [(name, value) for name, value in state.items() if value]
    return f"{path}?{urlencode(fields)}"


def group_label(dataset: str, category: Category) -> str:
    """Name a group of clips: ``mini, speech``, or ``all datasets, speech``."""
    return f"{dataset or 'all datasets'}, {category}"


def gap_lines(comparison: Comparison, key: str) -> list[GapLine]:
    """List the differences of one quantity, group by group; the codecs of a group in the order of their choice.

    The overall score stands for each category over all shared datasets first, then for each dataset where there are
    several.
    """
    lines = [line for category in CATEGORIES for line in _overall(comparison, category)] if key == SCORE_KEY else []
    several = {
        category
        for pair in comparison.pairs
        for category in CATEGORIES
        if sum(part.category == category for part in pair.datasets) > 1
    }
    groups = {(part.dataset, part.category): None for pair in comparison.pairs for part in pair.datasets}
    for dataset, category in groups:
        if key != SCORE_KEY or category in several:
            found = [_line(comparison, pair, dataset, category, key) for pair in comparison.pairs]
            lines += found if any(line.gap for line in found) else []
    return lines


def _overall(comparison: Comparison, category: Category) -> list[GapLine]:
    lines = []
    for pair in comparison.pairs:
        part = next((part for part in pair.categories if part.category == category), None)
        clips = sum(entry.shared for entry in pair.datasets if entry.category == category)
        gap = part.score if part else None
        of = _codec(comparison, pair.codec)
        lines.append(GapLine(group_label("", category), pair.codec, _title(comparison, pair), clips, gap, of))
    return lines if any(line.gap for line in lines) else []


def own_results(comparison: Comparison) -> list[tuple[Category, list[tuple[ComparedCodec, ResultSummary]]]]:
    """Gather the codecs' own results by category, in the order of their choice."""
    found = [
        (category, [(codec, own) for codec in comparison.codecs for own in codec.results if own.category == category])
        for category in CATEGORIES
    ]
    return [(category, members) for category, members in found if members]


def differing_facts(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Gather what the codecs' cards say differently, by label; without their names, which head the columns."""
    texts = [{fact.label: fact.text for fact in codec.facts} for codec in comparison.codecs]
    labels = dict.fromkeys(label for each in texts for label in each if label != "Name")
    rows = [(label, [each.get(label, MISSING) for each in texts]) for label in labels]
    return [(label, said) for label, said in rows if len(set(said)) > 1]


def category_gap(comparison: Comparison, codec: str, category: Category) -> Gap | None:
    """Find the difference of a codec's overall score in a category; None for the baseline and where there is none."""
    parts = [part for pair in comparison.pairs if pair.codec == codec for part in pair.categories]
    return next((part.score for part in parts if part.category == category), None)


def _line(comparison: Comparison, pair: CodecPair, dataset: str, category: Category, key: str) -> GapLine:
    group, title, of = group_label(dataset, category), _title(comparison, pair), _codec(comparison, pair.codec)
    part = next((part for part in pair.datasets if (part.dataset, part.category) == (dataset, category)), None)
    if part is None:
        return GapLine(group, pair.codec, title, 0, None, of)
    if key == SCORE_KEY:
        return GapLine(group, pair.codec, title, part.shared, part.score, of)
    counts = next((entry for entry in part.metrics if entry.metric == key), None)
    return GapLine(group, pair.codec, title, counts.n if counts else 0, counts.gap if counts else None, of, counts)


def _title(comparison: Comparison, pair: CodecPair) -> str:
    """Name a codec for people; two of the same title are distinguished by their names."""
    title = _codec(comparison, pair.codec).title
    same = [codec for codec in comparison.codecs if codec.title == title]
    return title if len(same) == 1 else f"{title} ({pair.codec})"


def _codec(comparison: Comparison, name: str) -> ComparedCodec:
    return next(codec for codec in comparison.codecs if codec.name == name)


def pair_title(comparison: Comparison, codec: str, *, local: bool) -> str:
    """Name a codec and the baseline, each with on whose word it stands, which ``local`` runs do not say."""
    both = (_codec(comparison, codec), comparison.codecs[0])
    return " against ".join(of.name if local else f"{of.name} ({of.source})" for of in both)


def forest_rows(comparison: Comparison, key: str) -> list[ForestRow]:
    """Make the rows of the figure out of the lines of the table."""
    baseline = f"baseline {comparison.codecs[0].source}"
    return [
        ForestRow(line.group, line.title, line.of.family, line.n, line.gap, (line.of.source, baseline))
        for line in gap_lines(comparison, key)
    ]


def clip_metric(comparison: Comparison, key: str) -> str:
    """Choose the metric whose extreme clips are shown: the chosen one, else the first known of a fixed list."""
    if key != SCORE_KEY:
        return key
    present = {entry.metric for pair in comparison.pairs for part in pair.datasets for entry in part.metrics}
    return next((found for found in (*_LISTENED_FIRST, *METRICS) if found in present), "")


def clip_lines(comparison: Comparison, metric: str) -> list[ClipLines]:
    """List the clips with the largest gains and losses by ``metric``; ``""`` gives none."""
    found = []
    for pair in comparison.pairs:
        parts = [(part, entry) for part in pair.datasets for entry in part.extremes if entry.metric == metric]
        gains = [ClipLine(part.dataset, part.category, clip) for part, entry in parts for clip in entry.gains]
        losses = [ClipLine(part.dataset, part.category, clip) for part, entry in parts for clip in entry.losses]
        if gains or losses:
            found.append(ClipLines(pair.codec, _largest(gains), _largest(losses)))
    return found


def _largest(lines: Sequence[ClipLine]) -> list[ClipLine]:
    return sorted(lines, key=lambda line: -abs(line.clip.difference))[:CLIPS_SHOWN]


def verdict_lists(pair: CodecPair) -> dict[Verdict, list[tuple[str, list[str]]]]:
    """List wins, losses and undecided quantities: for each verdict the groups, each with its quantities in words."""
    return {
        verdict: [(group, [_in_words(line) for line in lines]) for group, lines in _by_group(found)]
        for verdict, found in standings(pair).items()
    }


def _by_group(lines: Sequence[Standing]) -> list[tuple[str, list[Standing]]]:
    return [(group, list(members)) for group, members in groupby(lines, key=_group_of)]


def _group_of(line: Standing) -> str:
    return group_label(line.dataset, line.category)


def _in_words(line: Standing) -> str:
    return f"{line.quantity.label} {signed(line.gap.difference, line.quantity)}"


def grouped(lines: Sequence[GapLine]) -> list[tuple[str, list[GapLine]]]:
    """Collect the lines of each group under one heading."""
    return [(group, list(members)) for group, members in groupby(lines, key=lambda line: line.group)]


def sources_of(rate: RateGap) -> str:
    """Say on whose word the points of two curves stand."""
    return some_of(rate.sources)


def rates_against_baseline(comparison: Comparison) -> list[RateGap]:
    """List the other families against that of the baseline; the other pairs are in the JSON."""
    return [rate for rate in comparison.rates if rate.against == comparison.codecs[0].family]


def unshared_clips(pair: CodecPair) -> list[str]:
    """Say which clips only one of a pair resynthesised, by group."""
    found = []
    for part in pair.datasets:
        sides = ((part.only_codec, pair.codec), (part.only_baseline, pair.baseline))
        said = [f"{count(clips, 'clip')} that only {codec} resynthesised" for clips, codec in sides if clips]
        if said:
            found.append(f"{group_label(part.dataset, part.category)}: {' and '.join(said)}")
    return found


def signed(difference: float, quantity: Quantity) -> str:
    """Write a difference with its sign; what rounds to zero has none."""
    text = quantity.write(difference)
    return f"+{text}" if difference > 0 and text.strip("0.") else text


def counts_of(pair: CodecPair) -> dict[Verdict, int]:
    """Count the verdicts of a pair."""
    return {verdict: len(lines) for verdict, lines in standings(pair).items()}


def default_choice(key: str, choices: Sequence[Quantity]) -> Quantity:
    """Return the quantity of ``key`` where it can be shown, else the overall score."""
    return next((quantity for quantity in choices if quantity.key == key), quantity_of(SCORE_KEY))


def missing_metrics(part: DatasetGap) -> list[str]:
    """Return why a group has no overall score."""
    have = {entry.metric for entry in part.metrics if entry.n}
    return [METRICS[key].label for key in overall_metrics(part.category) if key not in have]
