"""Convert the pipeline's results to the rows of the report; no other module does this conversion."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.cli.report_conditions import condition_results
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.aggregates.codebooks import counts_by_name
from codec_superb.pipeline.aggregates.evidence import short_clips
from codec_superb.pipeline.aggregates.metrics import CategoryAggregate
from codec_superb.pipeline.aggregates.rate import measured_rates
from codec_superb.pipeline.aggregates.summary import summarise
from codec_superb.pipeline.comparison.families import compare_families
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.conditions.record import suffix_of
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.statistics.ranks import Rank, Ranking
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.tables.stored_rows import StoredRows, where
from codec_superb.web.application_rows import application_rows, parts_of
from codec_superb.web.retrieval_examples import RetrievalExample
from codec_superb.web.rows import (
    ApplicationRow,
    ClipFailure,
    ClipPoint,
    CodecResult,
    CountRow,
    RateComparison,
    ReportData,
    ReportSample,
)

POINTS = 10_000
"""Clips of a codec and category in charts of single clips; of more these are drawn, and the page says so."""


def report_data(
    results: Sequence[Results],
    rankings: Mapping[Category, Ranking],
    title: str,
    listening: Sequence[ReportSample] = (),
    examples: Sequence[RetrievalExample] = (),
) -> ReportData:
    """Assemble the data of the page from one entry per codec and condition (see ``combine``) and their ranking.

    Results under a condition are in its section alone, and in the list of failures.
    """
    everything, results = results, [entry for entry in results if entry.condition is None]
    rows = codec_results(results, rankings)
    return ReportData(
        title=title,
        created=max((stamp.started for r in everything for d in r.datasets for stamp in d.provenance), default=_now()),
        results=rows,
        clips=[point for entry in results for point in _points(entry)],
        listening=listening,
        failures=[failure for entry in everything for failure in failures_of(entry)],
        rates=_rates(results, rankings),
        conditions=condition_results(
            everything,
            lambda entry: [result_of(entry, category, None) for category in entry.aggregates.categories],
            applications_of,
        ),
        applications=[row for entry in results for row in applications_of(entry)],
        slices=[row for entry in results for row in applications_of(entry, entry.aggregates.slices)],
        examples=examples,
        counts=[
            CountRow(entry.card.name, of.dataset, of.name, of.score)
            for entry in results
            for of in counts_by_name(entry.rows, entry.pairs)
        ],
        provenance=_provenance(everything),
        dataset_credits=_credits(everything),
    )


def codec_results(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> list[CodecResult]:
    """One row per codec and category, best rank first, unranked ones last; none under a condition."""
    results = [entry for entry in results if entry.condition is None]
    ranks = {(category, rank.codec): rank for category, ranking in rankings.items() for rank in ranking.ranks}
    rows = [
        result_of(entry, category, ranks.get((category.category, entry.card.name)))
        for entry in results
        for category in entry.aggregates.categories
    ]
    order = [category for category in CATEGORIES if any(row.summary.category == category for row in rows)]
    return sorted(
        rows,
        key=lambda row: (
            order.index(row.summary.category),
            row.rank is None,
            -(row.summary.score.value or 0.0),
            row.codec,
        ),
    )


def results_under_conditions(results: Sequence[Results]) -> list[CodecResult]:
    """One row per codec, condition and category, named ``codec@condition``; they have no rank."""
    rows = [
        replace(result_of(entry, category, None), codec=f"{entry.card.name}{suffix_of(entry.condition)}")
        for entry in results
        if entry.condition is not None
        for category in entry.aggregates.categories
    ]
    return sorted(rows, key=lambda row: (CATEGORIES.index(row.summary.category), row.codec))


def result_of(entry: Results, category: CategoryAggregate, rank: Rank | None) -> CodecResult:
    """Make the row of one codec in one category."""
    summary, card = summarise(entry.aggregates, category), entry.card
    return CodecResult(
        codec=card.name,
        title=card.title,
        family=card.family,
        nominal_kbps=card.nominal_kbps,
        lossless=card.kind == "lossless",
        bit_source=card.bit_source,
        # The report's TPS is that of the card, whatever clips were run.
        summary=summary.model_copy(update={"tokens_per_second": card.tokens_per_second}),
        rank=(rank.best, rank.worst) if rank else None,
        operations={of.info.name: of.operations for of in entry.datasets if of.operations is not None},
        states={of.info.name: of.info.manifest_hash for of in entry.datasets},
        definitions=entry.metrics,
    )


def applications_of(entry: Results, aggregates: Sequence[ApplicationAggregate] | None = None) -> list[ApplicationRow]:
    """Return the rows of the pooled figures, or of ``aggregates``."""
    probes = {dataset.info.name: dataset.probes for dataset in entry.datasets}
    short = {
        (name, info.probe): len(short_clips(entry.rows, info, name)) for name, infos in probes.items() for info in infos
    }
    rated = {(part.category, part.dataset): part for part in entry.aggregates.datasets}
    rows = application_rows(
        entry.card.name,
        entry.aggregates.applications if aggregates is None else aggregates,
        probes,
        # tokens per second are those of the card, as of the codec's results
        lambda found: (measured_rates(rated, parts_of(found, probes))[0], None),
    )
    return [replace(row, short=short.get((row.numbers.dataset, row.numbers.probe), 0)) for row in rows]


def _points(entry: Results) -> Iterator[ClipPoint]:
    for row in _drawn(entry.rows):
        if row.status == "ok":
            values = {key: value.value for key, value in row.metrics.items() if value.value is not None}
            yield ClipPoint(entry.card.name, row.dataset, row.clip, row.category, row.kbps, values)


def _drawn(rows: Sequence[ClipRow]) -> Iterator[ClipRow]:
    """Yield the clips of each category, of many those whose hash is least: the same ones of every codec."""
    for category in CATEGORIES:
        its = where(rows, "category", {category})
        if isinstance(its, StoredRows) and len(its) > POINTS:
            order = [hashlib.sha256(clip.encode()).digest() for clip in its.table["clip"].to_pylist()]
            least = heapq.nsmallest(POINTS, range(len(order)), key=order.__getitem__)
            its = its.at(sorted(least))
        yield from its


def failures_of(entry: Results) -> Iterator[ClipFailure]:
    """Yield what has no value: clips without a resynthesis, metrics that are undefined or failed, failed probes."""
    for row in entry.rows.not_ok() if isinstance(entry.rows, StoredRows) else entry.rows:
        if row.status == "failed":
            reason = f"{row.error_type}: {row.error}" if row.error_type else row.error
            yield ClipFailure(entry.title, row.dataset, row.clip, row.stage, "failed", reason)
            continue
        for key, value in row.metrics.items():
            if value.status != "ok":
                yield ClipFailure(entry.title, row.dataset, row.clip, key, value.status, value.reason)
        for probe, found in row.probes.items():
            if found.status == "failed":
                yield ClipFailure(entry.title, row.dataset, row.clip, probe, "failed", found.reason)


def _rates(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> list[RateComparison]:
    """Bjøntegaard deltas, each pair of families once; the page derives the opposite direction."""
    return [
        RateComparison(entry.category, entry.family, entry.against, entry.delta.rate_percent, entry.delta.score)
        for entry in compare_families(results, rankings)
        if entry.family < entry.against and min(entry.delta.points) > 1
    ]


def _provenance(results: Sequence[Results]) -> list[tuple[str, str]]:
    """Return the provenance of all runs, one line per fact, with every value where runs differ."""
    found: dict[str, dict[str, None]] = {}
    for entry in results:
        for dataset in entry.datasets:
            info = dataset.info
            found.setdefault(f"dataset {info.name}", {})[
                f"{info.selected} of {info.clips} clips, manifest {info.manifest_hash}"
            ] = None
            for stamp in dataset.provenance:
                if stamp.stage == "imported":
                    found.setdefault("imported: resynthesised elsewhere", {})[_taken_over(entry, stamp)] = None
                dirty = ", with local changes" if stamp.dirty else ""
                found.setdefault("codec-superb", {})[
                    f"{stamp.tool_version}, commit {stamp.commit or 'of a release'}{dirty}"
                ] = None
                found.setdefault("Python", {})[f"{stamp.python} on {stamp.platform}, {stamp.processor}"] = None
                packages = ", ".join(f"{name} {version}" for name, version in sorted(stamp.packages.items()))
                found.setdefault(f"packages of {stamp.stage}", {})[packages] = None
            for probe in dataset.probes:
                found.setdefault(f"model of {probe.probe}", {})[_model(probe)] = None
    metrics = {key: version for entry in results for key, version in entry.metrics.items()}
    found["metric definitions"] = {", ".join(f"{key} {version}" for key, version in sorted(metrics.items())): None}
    return [(name, " | ".join(values)) for name, values in found.items()]


def _taken_over(entry: Results, stamp: Provenance) -> str:
    """Say whose sound was made elsewhere, and what was done to it when it came."""
    made = stamp.taken_over
    changed = "" if made is None else f", {made.fitted} cut or padded at the end, {made.resampled} resampled"
    return f"{entry.card.name}: {0 if made is None else made.files} files{changed}"


def _model(probe: ProbeInfo) -> str:
    settings = "".join(f", {name} {value}" for name, value in sorted(probe.settings.items()))
    trained = ", untrained weights" if probe.random else ""
    return f"{probe.backend}, SHA-256 {probe.model_sha256}, definition {probe.version}{trained}{settings}"


def _credits(results: Iterable[Results]) -> list[tuple[str, str, str]]:
    infos = {dataset.info.name: dataset.info for entry in results for dataset in entry.datasets}
    return [(info.title, info.licence, info.homepage or "") for _, info in sorted(infos.items())]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
