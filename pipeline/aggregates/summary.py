"""Summarises one codec in one category, over its datasets or on one of them, for report and leaderboard."""

from __future__ import annotations

import math
from collections.abc import Sequence

from codec_superb.metrics.results import Estimate, ResultSummary, Score
from codec_superb.pipeline.aggregates.metrics import Aggregates, CategoryAggregate, DatasetAggregate


def summarise(aggregates: Aggregates, category: CategoryAggregate) -> ResultSummary:
    """Summarise a category over all of its datasets."""
    parts = [part for part in aggregates.datasets if part.category == category.category]
    keys = dict.fromkeys(key for part in parts for key in part.metrics)
    metrics = {key: over_datasets([part.metrics[key] for part in parts if key in part.metrics]) for key in keys}
    return _summary(parts, category.complete, category.kbps, category.score, metrics)


def summarise_dataset(part: DatasetAggregate) -> ResultSummary:
    """Summarise one dataset's clips of one category."""
    return _summary([part], part.complete, part.kbps, part.score, part.metrics)


def _summary(
    parts: Sequence[DatasetAggregate],
    complete: bool,
    kbps: float | None,
    score: Score,
    metrics: dict[str, Estimate],
) -> ResultSummary:
    return ResultSummary(
        category=parts[0].category,
        datasets=tuple(part.dataset for part in parts),
        complete=complete,
        clips=sum(part.clips for part in parts),
        ok=sum(part.ok for part in parts),
        failed=sum(part.failed for part in parts),
        seconds=math.fsum(part.seconds for part in parts),
        kbps=kbps,
        tokens_per_second=_by_seconds(parts, [part.tokens_per_second for part in parts]),
        compression_ratio=_by_seconds(parts, [part.compression_ratio for part in parts]),
        encode_rtf=_by_seconds(parts, [part.encode_rtf for part in parts]),
        decode_rtf=_by_seconds(parts, [part.decode_rtf for part in parts]),
        largest_lag=max((part.largest_lag for part in parts if part.largest_lag is not None), default=None),
        clipped_samples=sum(part.clipped_samples for part in parts),
        score=score,
        metrics=metrics,
    )


def over_datasets(parts: Sequence[Estimate]) -> Estimate:
    """Mean of the dataset means: each dataset counts the same, as in the overall score.

    The half-widths of the datasets' intervals are independent and add in quadrature. No mean where one is missing.
    """
    counts = {
        "n": sum(part.n for part in parts),
        "undefined": sum(part.undefined for part in parts),
        "failed": sum(part.failed for part in parts),
    }
    means = [part.mean for part in parts if part.mean is not None]
    # a mean over some of the datasets would be that of easier or harder ones
    if len(means) < len(parts) or not means:
        return Estimate(mean=None, sd=None, low=None, high=None, **counts)
    value = math.fsum(means) / len(means)
    down = [part.mean - part.low for part in parts if part.mean is not None and part.low is not None]
    up = [part.high - part.mean for part in parts if part.mean is not None and part.high is not None]
    bounded = len(down) == len(up) == len(parts)
    return Estimate(
        mean=value,
        sd=parts[0].sd if len(parts) == 1 else None,
        # half-widths of independent means add in squares; the ends are kept apart, since intervals are not symmetric
        low=value - math.hypot(*down) / len(parts) if bounded else None,
        high=value + math.hypot(*up) / len(parts) if bounded else None,
        **counts,
    )


def _by_seconds(parts: Sequence[DatasetAggregate], values: Sequence[float | None]) -> float | None:
    """Mean over datasets, weighted by their seconds; None where one is not known."""
    seconds = math.fsum(part.seconds for part in parts)
    known = [value for value in values if value is not None]
    if not seconds or len(known) < len(parts):
        return None
    return math.fsum(part.seconds * value for part, value in zip(parts, known, strict=True)) / seconds
