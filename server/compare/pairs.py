"""One codec against the baseline: the paired comparison of the pipeline, as the page and the API show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codec_superb.metrics.table import METRICS, Category
from codec_superb.pipeline.comparison.codecs import ComparisonReport, compare_results
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.clip_arrays import ClipArrays, shared
from codec_superb.pipeline.statistics.groups import group_rows
from codec_superb.pipeline.statistics.paired import Difference, PairedDataset, PairedMetric
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.web.rows import Gap
from codec_superb.web.site.compare.view import (
    CategoryGap,
    ClipGap,
    CodecPair,
    DatasetGap,
    Extremes,
    LeftOutItem,
    MetricGap,
    verdict_of,
)

EXTREMES = 5
"""Clips named at each end."""


def compare_pair(codec: Results, baseline: Results) -> CodecPair:
    """Compare on the clips that both have; a pair that shares nothing says why in ``reason``."""
    names = codec.card.name, baseline.card.name
    try:
        report = compare_results(codec, baseline)
    except PipelineError as error:
        return CodecPair(*names, reason=str(error), categories=(), datasets=(), left_out=())
    groups = _by_group(codec.rows), _by_group(baseline.rows)
    return CodecPair(
        *names,
        reason="",
        categories=[
            CategoryGap(entry.category, entry.datasets, entry.left_out, _gap(entry.score))
            for entry in report.categories
        ],
        datasets=[_dataset(entry, groups) for entry in report.datasets],
        left_out=_left_out(report, *names),
    )


_Groups = dict[tuple[str, Category], ClipArrays]


def _by_group(rows: Sequence[ClipRow]) -> _Groups:
    return {(group.dataset, group.category): members for group, members in group_rows(rows).items()}


def _left_out(report: ComparisonReport, codec: str, baseline: str) -> list[LeftOutItem]:
    """Convert what was left out; "first" and "second" become the codecs' names."""
    return [
        LeftOutItem(
            entry.what,
            entry.reason.replace(f"the first, {codec},", codec).replace(f"the second, {baseline},", baseline),
        )
        for entry in report.left_out
    ]


def _gap(found: Difference | None, *, higher_is_better: bool = True) -> Gap | None:
    if found is None:
        return None
    return Gap(
        codec=found.first,
        baseline=found.second,
        difference=found.difference,
        low=found.low,
        high=found.high,
        share_better=found.first_better,
        verdict=verdict_of(found.low, found.high, higher_is_better=higher_is_better),
    )


def _dataset(found: PairedDataset, groups: tuple[_Groups, _Groups]) -> DatasetGap:
    key = found.dataset, found.category
    return DatasetGap(
        dataset=found.dataset,
        category=found.category,
        shared=found.shared,
        only_codec=found.only_first,
        only_baseline=found.only_second,
        score=_gap(found.score),
        metrics=[_metric(entry) for entry in found.metrics if entry.n or entry.only_first or entry.only_second],
        extremes=_extremes(groups[0][key], groups[1][key], [entry.metric for entry in found.metrics if entry.n]),
    )


def _metric(found: PairedMetric) -> MetricGap:
    return MetricGap(
        metric=found.metric,
        n=found.n,
        only_codec=found.only_first,
        only_baseline=found.only_second,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        gap=_gap(found.result, higher_is_better=METRICS[found.metric].higher_is_better),
    )


def _extremes(codec: ClipArrays, baseline: ClipArrays, keys: Sequence[str]) -> list[Extremes]:
    both = shared([codec, baseline])
    clips = both[0].table["clip"].to_pylist()
    one, two = (of.values(keys) for of in both)
    found = []
    for column, key in enumerate(keys):
        gained = one[:, column] - two[:, column]
        better = gained if METRICS[key].higher_is_better else -gained
        order = np.argsort(-better, kind="stable")  # NaN comes last
        known = [int(place) for place in order if np.isfinite(better[place])]
        rows = {
            place: ClipGap(clips[place], float(one[place, column]), float(two[place, column]), float(gained[place]))
            for place in {*known[:EXTREMES], *known[-EXTREMES:]}
        }
        gains = [rows[place] for place in known[:EXTREMES] if better[place] > 0]
        losses = [rows[place] for place in known[::-1][:EXTREMES] if better[place] < 0]
        found.append(Extremes(key, gains, losses))
    return found
