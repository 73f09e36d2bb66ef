"""From results to what the report shows: the only place where the pipeline's records become the page's rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.aggregate import CategoryAggregate, DatasetAggregate, MetricAggregate
from codec_superb.pipeline.families import compare_families
from codec_superb.pipeline.results import Results
from codec_superb.pipeline.statistics.ranks import Rank, Ranking
from codec_superb.web.report_data import (
    ClipPoint,
    CodecResult,
    Estimate,
    Failure,
    Listening,
    RateComparison,
    ReportData,
)


def report_data(
    results: Sequence[Results],
    rankings: Mapping[Category, Ranking],
    title: str,
    listening: Sequence[Listening] = (),
) -> ReportData:
    """Put together everything on the page from one entry a codec (see ``combine``) and their ranking."""
    rows = codec_results(results, rankings)
    return ReportData(
        title=title,
        created=max((stamp.started for r in results for d in r.datasets for stamp in d.provenance), default=_now()),
        results=rows,
        clips=[point for entry in results for point in _points(entry)],
        listening=listening,
        failures=[failure for entry in results for failure in _failures(entry)],
        rates=_rates(results, rankings),
        provenance=_provenance(results),
        dataset_credits=_credits(results),
    )


def codec_results(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> list[CodecResult]:
    """One row a codec and category, best rank first, unranked ones behind."""
    ranks = {(category, rank.codec): rank for category, ranking in rankings.items() for rank in ranking.ranks}
    rows = [
        _result(entry, category, ranks.get((category.category, entry.card.name)))
        for entry in results
        for category in entry.aggregates.categories
    ]
    order = [category for category in CATEGORIES if any(row.category == category for row in rows)]
    return sorted(
        rows, key=lambda row: (order.index(row.category), row.rank is None, -(row.score.value or 0.0), row.codec)
    )


def _result(entry: Results, category: CategoryAggregate, rank: Rank | None) -> CodecResult:
    parts = [part for part in entry.aggregates.datasets if part.category == category.category]
    card = entry.card
    keys = dict.fromkeys(key for part in parts for key in part.metrics)
    return CodecResult(
        codec=card.name,
        title=card.title,
        family=card.family,
        category=category.category,
        kbps=category.kbps if category.kbps is not None else math.nan,
        nominal_kbps=card.nominal_kbps,
        tokens_per_second=card.tokens_per_second,
        lossless=card.kind == "lossless",
        score=Estimate(
            category.score.value, category.score.low, category.score.high,
            n=sum(part.ok for part in parts), failed=sum(part.failed for part in parts),
        ),
        rank=(rank.best, rank.worst) if rank else None,
        metrics={key: _over_datasets([part.metrics[key] for part in parts if key in part.metrics]) for key in keys},
        datasets=category.datasets,
        clips=sum(part.clips for part in parts),
        failed=sum(part.failed for part in parts),
        complete=category.complete,
        largest_lag=max((part.largest_lag for part in parts if part.largest_lag is not None), default=None),
        clipped_samples=sum(part.clipped_samples for part in parts),
        encode_rtf=_by_seconds(parts, [part.encode_rtf for part in parts]),
        decode_rtf=_by_seconds(parts, [part.decode_rtf for part in parts]),
        compression_ratio=_by_seconds(parts, [part.compression_ratio for part in parts]),
    )  # fmt: skip


def _over_datasets(parts: Sequence[MetricAggregate]) -> Estimate:
    """Mean of the dataset means: each dataset counts the same, as in the overall score.

    The half-widths of the datasets' intervals are independent and add in quadrature.
    """
    counts = {
        "n": sum(part.n for part in parts),
        "undefined": sum(part.undefined for part in parts),
        "failed": sum(part.failed for part in parts),
    }
    means = [part.mean for part in parts if part.mean is not None]
    if len(means) < len(parts) or not means:
        return Estimate(None, **counts)
    value = math.fsum(means) / len(means)
    down = [part.mean - part.low for part in parts if part.mean is not None and part.low is not None]
    up = [part.high - part.mean for part in parts if part.mean is not None and part.high is not None]
    bounded = len(down) == len(up) == len(parts)
    return Estimate(
        value,
        value - math.hypot(*down) / len(parts) if bounded else None,
        value + math.hypot(*up) / len(parts) if bounded else None,
        sd=parts[0].sd if len(parts) == 1 else None,
        **counts,
    )


def _by_seconds(parts: Sequence[DatasetAggregate], values: Sequence[float | None]) -> float | None:
    """Mean over datasets, weighted by their seconds; None where one is not known."""
    seconds = math.fsum(part.seconds for part in parts)
    if not seconds or any(value is None for value in values):
        return None
    return (
        math.fsum(part.seconds * value for part, value in zip(parts, values, strict=True) if value is not None)
        / seconds
    )


def _points(entry: Results) -> Iterator[ClipPoint]:
    for row in entry.rows:
        if row.status == "ok":
            values = {key: value.value for key, value in row.metrics.items() if value.value is not None}
            yield ClipPoint(entry.card.name, row.dataset, row.clip, row.category, row.kbps, values)


def _failures(entry: Results) -> Iterator[Failure]:
    for row in entry.rows:
        if row.status == "failed":
            reason = f"{row.error_type}: {row.error}" if row.error_type else row.error
            yield Failure(entry.card.name, row.dataset, row.clip, row.stage, "failed", reason)
            continue
        for key, value in row.metrics.items():
            if value.status != "ok":
                yield Failure(entry.card.name, row.dataset, row.clip, key, value.status, value.reason)


def _rates(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> list[RateComparison]:
    """Bjøntegaard deltas, each pair of families once: the page turns the other direction round itself."""
    return [
        RateComparison(entry.category, entry.family, entry.against, entry.delta.rate_percent, entry.delta.score)
        for entry in compare_families(results, rankings)
        if entry.family < entry.against and min(entry.delta.points) > 1
    ]


def _provenance(results: Sequence[Results]) -> list[tuple[str, str]]:
    """Return what all runs share in one line each, and every value where they differ."""
    found: dict[str, dict[str, None]] = {}
    for entry in results:
        for dataset in entry.datasets:
            info = dataset.info
            found.setdefault(f"dataset {info.name}", {})[
                f"{info.selected} of {info.clips} clips, manifest {info.manifest_hash}"
            ] = None
            for stamp in dataset.provenance:
                dirty = ", with local changes" if stamp.dirty else ""
                found.setdefault("codec-superb", {})[
                    f"{stamp.tool_version}, commit {stamp.commit or 'of a release'}{dirty}"
                ] = None
                found.setdefault("Python", {})[f"{stamp.python} on {stamp.platform}, {stamp.processor}"] = None
                packages = ", ".join(f"{name} {version}" for name, version in sorted(stamp.packages.items()))
                found.setdefault(f"packages of {stamp.stage}", {})[packages] = None
    metrics = {key: version for entry in results for key, version in entry.metrics.items()}
    found["metric definitions"] = {", ".join(f"{key} {version}" for key, version in sorted(metrics.items())): None}
    return [(name, " | ".join(values)) for name, values in found.items()]


def _credits(results: Iterable[Results]) -> list[tuple[str, str, str]]:
    infos = {dataset.info.name: dataset.info for entry in results for dataset in entry.datasets}
    return [(info.title, info.licence, info.homepage or "") for _, info in sorted(infos.items())]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
