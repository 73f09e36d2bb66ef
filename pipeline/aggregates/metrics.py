"""Aggregates clip rows into the ranked results: clip → dataset → category, each with counts and intervals.

A dataset of several categories (``mini``) is aggregated per category. Aggregates are always computed from rows,
here and on the server; aggregates stated in a submission are only compared with them. Sums are exactly rounded
and clips sorted by id, so the numbers do not depend on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field, FiniteFloat, SerializerFunctionWrapHandler, model_serializer

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.metrics.overall import category_score
from codec_superb.metrics.results import NO_SCORE, Estimate, Measured, Score
from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.aggregates.applications import aggregate_applications, aggregate_slices
from codec_superb.pipeline.aggregates.composites import Backends
from codec_superb.pipeline.aggregates.interval import score_of
from codec_superb.pipeline.statistics.bootstrap import standard_deviation
from codec_superb.pipeline.statistics.clip_arrays import ClipArrays, total
from codec_superb.pipeline.statistics.groups import ClipPool, SharedClips, group_rows, share
from codec_superb.pipeline.statistics.jackknife import Floats, Jackknife, combine, interval
from codec_superb.pipeline.tables.rows import ClipRow, KeptRow
from codec_superb.record import Record


class DatasetAggregate(Measured):
    """One codec on one dataset, one category of it."""

    dataset: str
    """Name of the dataset."""
    bits: int
    """Payload of the clips that are ok."""
    clusters: int | None = None
    """Clusters of the clips that are ok, which the intervals rest on; None in a file of an earlier method."""

    @model_serializer(mode="wrap")
    def _without_clusters(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the newer field out where it is not known: a file of an earlier version keeps its hash."""
        written: dict[str, Any] = handler(self)
        if self.clusters is None:
            written.pop("clusters", None)
        return written


class CategoryAggregate(Record):
    """One codec in one category, over its datasets."""

    category: Category
    """Category of the clips."""
    datasets: tuple[str, ...]
    """All that have clips of the category."""
    complete: bool
    """Every dataset is."""
    kbps: FiniteFloat | None
    """All bits over all seconds of its datasets."""
    score: Score
    """Harmonic mean of the dataset scores; None when one of them is None."""


class Aggregates(Record):
    """All of one codec."""

    datasets: tuple[DatasetAggregate, ...] = Field(default_factory=tuple)
    """By dataset and category."""
    categories: tuple[CategoryAggregate, ...] = Field(default_factory=tuple)
    """By category, over the datasets."""
    applications: tuple[ApplicationAggregate, ...] = Field(default_factory=tuple)
    """By dataset and figure; empty where no probe was run."""
    slices: tuple[ApplicationAggregate, ...] = Field(default_factory=tuple)
    """The same figures on the clips of one slice (a recording condition), of datasets that have slices."""

    @model_serializer(mode="wrap")
    def _without_slices(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the newer field out where it is empty: a file of an earlier version keeps its hash."""
        written: dict[str, Any] = handler(self)
        if not self.slices:
            written.pop("slices", None)
        return written


def aggregate(
    rows: Sequence[ClipRow],
    *,
    metrics: Sequence[str],
    expected: Mapping[str, int] | None = None,
    pairs: Sequence[KeptRow] = (),
    backends: Backends | None = None,
) -> Aggregates:
    """Aggregate the rows of one codec; deterministic in ``rows`` and ``pairs`` (any order).

    ``expected`` maps a dataset to the number of its clips; one with fewer rows is shown as incomplete. ``pairs`` are
    the trials, ranks and frames of probes, ``backends`` the models that answered, by dataset and probe (a figure over
    several datasets asks for those of its protocol). Raises PipelineError when a clip has two rows, or a pair has none.
    """
    groups = group_rows(rows)
    counts: dict[str, int] = {}
    for group, members in groups.items():
        counts[group.dataset] = counts.get(group.dataset, 0) + len(members)
    datasets, found = [], []
    for group, members in groups.items():
        missing = (expected or {}).get(group.dataset, 0) > counts[group.dataset]
        joint = share(group, [members], _measured(members, metrics))
        scores = joint.scores()
        found.append(scores and scores.column(0))
        datasets.append(_dataset(group, members, joint, found[-1], missing=missing))
    categories = []
    for category in CATEGORIES:
        chosen = [position for position, dataset in enumerate(datasets) if dataset.category == category]
        if chosen:
            parts = [datasets[position] for position in chosen]
            categories.append(_category(category, parts, [found[position] for position in chosen]))
    return Aggregates(
        datasets=tuple(datasets),
        categories=tuple(categories),
        applications=aggregate_applications(rows, pairs, backends=backends),
        slices=aggregate_slices(rows, pairs),
    )


def _measured(clips: ClipArrays, metrics: Sequence[str]) -> list[str]:
    """Metrics computed on a clip of the group; all of them where no clip has a resynthesis to compute them on."""
    return sorted(key for key in set(metrics) if clips.states(key) or not clips.ok.any())


def _metrics(clips: ClipArrays, joint: SharedClips) -> dict[str, Estimate]:
    failed = len(clips) - int(clips.ok.sum())
    table = {}
    for column, key in enumerate(joint.keys):
        states = clips.states(key)
        values, n = joint.values[:, 0, column], joint.n[column]
        mean = joint.column(column).column(0)
        ends = (METRICS[key].minimum, METRICS[key].maximum) if key in METRICS else ()
        low, high = interval(mean, *ends) or (None, None)
        table[key] = Estimate(
            n=n,
            undefined=states.get("undefined", 0),
            failed=failed + states.get("failed", 0),
            mean=float(mean.point) if n else None,
            sd=_finite(standard_deviation(values)),
            low=low,
            high=high,
        )
    return table


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _dataset(
    group: ClipPool, clips: ClipArrays, joint: SharedClips, score: Jackknife | None, *, missing: bool
) -> DatasetAggregate:
    ok = clips.at(clips.ok)
    metrics = _metrics(clips, joint)
    # fsum is exactly rounded: the order of clips changes no digit
    seconds = math.fsum(np.nan_to_num(ok.seconds).tolist())
    bits = total(ok.number("bits"))
    # 16-bit PCM of one channel: clips are mixed to mono before they are coded
    pcm_bits = 16 * _whole(ok.number("samples"))
    lags = np.abs(ok.number("lag_samples"))
    ours = [entry for key, entry in metrics.items() if key in METRICS]  # a plug-in's metric makes nothing incomplete
    complete = all(entry.failed == 0 and entry.n + entry.undefined == len(clips) for entry in ours)
    return DatasetAggregate(
        dataset=group.dataset,
        category=group.category,
        clips=len(clips),
        ok=len(ok),
        failed=len(clips) - len(ok),
        complete=complete and len(ok) == len(clips) and not missing,
        seconds=seconds,
        bits=_whole(ok.number("bits")),
        clusters=joint.cluster_count,
        kbps=_per(bits, 1000 * seconds),
        tokens_per_second=_per(total(ok.number("tokens")), seconds),
        compression_ratio=_per(pcm_bits, bits or 0),
        encode_rtf=_per(total(ok.number("encode_s")), seconds),
        decode_rtf=_per(total(ok.number("decode_s")), seconds),
        largest_lag=None if np.isnan(lags).all() else int(np.nanmax(lags)),
        clipped_samples=_whole(ok.number("clipped_samples")),
        metrics=metrics,
        score=score_of(score, 0.0, 1.0) if score else NO_SCORE,
    )


def _whole(values: Floats) -> int:
    """Sum whole numbers; those that are not known count as none."""
    return sum(map(int, values[np.isfinite(values)].tolist()))


def _per(amount: float | None, base: float) -> float | None:
    return amount / base if amount is not None and base else None


def _category(
    category: Category, parts: Sequence[DatasetAggregate], scores: Sequence[Jackknife | None]
) -> CategoryAggregate:
    """Combine datasets, which are independent of each other."""
    known = [score for score in scores if score is not None]
    score = score_of(combine(category_score, known), 0.0, 1.0) if len(known) == len(parts) else NO_SCORE
    bits = None if any(part.kbps is None and part.ok for part in parts) else sum(part.bits for part in parts)
    return CategoryAggregate(
        category=category,
        datasets=tuple(part.dataset for part in parts),
        complete=all(part.complete for part in parts),
        kbps=_per(bits, 1000 * math.fsum(part.seconds for part in parts)),
        score=score,
    )
