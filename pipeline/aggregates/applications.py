"""Computes application metrics from clip rows: on the originals, on the resyntheses, and the loss between.

Only clips on which the probe is ok count; the others are counted beside. Intervals are those of the metrics
(:mod:`codec_superb.pipeline.statistics.jackknife`): reference, resynthesis and their difference are computed without
the same clusters. A trial is left out with either of its clips.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from codec_superb.applications.averages.composite import Composite, Place
from codec_superb.applications.probe import SIDES, Probe, ProbeMetric
from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import AVERAGES, PROBES
from codec_superb.pipeline.aggregates.composites import Backends, combined
from codec_superb.pipeline.aggregates.estimate import ClusteredEstimate, contributing_clips, estimate
from codec_superb.pipeline.aggregates.evidence import (
    PairedEvidence,
    by_dataset_and_probe,
    changed_answers,
    is_computed_from_pairs,
    paired_evidence_of,
    probes_present,
)
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.tables.rows import ClipRow, KeptRow
from codec_superb.pipeline.tables.stored_rows import StoredRows


def aggregate_applications(
    rows: Iterable[ClipRow],
    pairs: Iterable[KeptRow],
    *,
    backends: Backends | None = None,
) -> tuple[ApplicationAggregate, ...]:
    """Compute every figure of every probe of the rows of one codec; deterministic whatever the order of both.

    A figure that has a value on neither side (characters of English) is absent, unless no clip takes part at all.
    Sorted by dataset, probes and figures as in the table; figures over several others, which are absent unless
    ``backends`` are those that they admit, come last. PipelineError for a pair of clips that take no part.
    """
    by_dataset = _by_dataset(rows)
    groups = by_dataset_and_probe(pairs)
    present = {name: probes_present(members) for name, members in by_dataset.items()}
    astray = sorted(place for place in groups if place[1] not in present.get(place[0], ()))
    if astray:
        raise PipelineError(f"pairs of {astray[0][1]} on {astray[0][0]!r}: expected clips with that probe, found none")
    found: list[ApplicationAggregate] = []
    estimates: dict[tuple[str, str], ClusteredEstimate] = {}
    for name in sorted(by_dataset):
        for key in present[name]:
            sides = paired_evidence_of(PROBES[key], by_dataset[name], groups.get((name, key), ()))
            for figure, estimated in estimate(sides).items():
                # a codec that failed on every clip keeps its figures, without values; characters of English do not
                # appear
                if not sides.clips or np.isfinite(estimated.found.point).any():
                    estimates[name, figure.key] = estimated
                    found.append(_entry(name, figure, sides, estimated, _counts(PROBES[key], by_dataset[name])))
    return (*found, *_averages(found, estimates, backends or {}))


def aggregate_slices(rows: Iterable[ClipRow], pairs: Iterable[KeptRow]) -> tuple[ApplicationAggregate, ...]:
    """Compute every figure on the clips of each slice; none of datasets whose clips name no slice.

    Sorted by dataset, slice, probes and figures. Pairs of clips of two slices are left out.
    """
    groups = by_dataset_and_probe(pairs)
    found: list[ApplicationAggregate] = []
    for name, members in sorted(_by_dataset(rows).items()):
        for part in sorted({row.slice for row in members if row.slice}):
            own = [row for row in members if row.slice == part]
            clips = {row.clip for row in own}
            for key in probes_present(own):
                sides = paired_evidence_of(PROBES[key], own, groups.get((name, key), ()), clips)
                for figure, estimated in estimate(sides).items():
                    if not sides.clips or np.isfinite(estimated.found.point).any():
                        entry = _entry(name, figure, sides, estimated, _counts(PROBES[key], own))
                        found.append(entry.model_copy(update={"slice": part}))
    return tuple(found)


def _by_dataset(rows: Iterable[ClipRow]) -> dict[str, list[ClipRow]]:
    if isinstance(rows, StoredRows) and not rows.probes:
        return {}
    found: dict[str, list[ClipRow]] = {}
    for row in rows:
        found.setdefault(row.dataset, []).append(row)
    return found


def _entry(
    dataset: str, figure: ProbeMetric, sides: PairedEvidence, estimated: ClusteredEstimate, counts: Mapping[str, int]
) -> ApplicationAggregate:
    changed = changed_answers(figure, sides.probe, sides.reference, sides.resynthesis)
    return ApplicationAggregate(
        probe=sides.probe.key,
        figure=figure.key,
        dataset=dataset,
        n=estimated.n,
        **counts,
        pairs=sides.pairs if is_computed_from_pairs(figure, sides.probe) else 0,
        **estimated.scores(figure),
        totals=_totals(figure, sides) if changed is None else {name: float(n) for name, n in changed._asdict().items()},
        mcnemar_p=None if changed is None else changed.p,
    )


def _counts(probe: Probe, rows: Sequence[ClipRow]) -> dict[str, int]:
    """Count the clips of the probe's categories that take no part; one without an entry counts as failed."""
    asked = [row for row in rows if row.category in probe.categories or probe.key in row.probes]
    states = [row.probes[probe.key].status if probe.key in row.probes else "failed" for row in asked]
    return {"left_out": states.count("left_out"), "failed": states.count("failed")}


def _totals(figure: ProbeMetric, sides: PairedEvidence) -> dict[str, float]:
    """Sum the counts behind a rate of errors."""
    if not figure.per:
        return {}
    chosen = contributing_clips(figure, sides)
    # what is counted; a measured number has a mean and no sum
    counted = [field for field in sides.probe.sided if field.whole]
    totals = {figure.per: float(sides.reference.values[figure.per][chosen].sum())}
    for name, side in zip(SIDES, (sides.reference, sides.resynthesis), strict=True):
        totals |= {f"{name}.{field.name}": float(side.values[field.name][chosen].sum()) for field in counted}
    return totals


def _averages(
    found: Sequence[ApplicationAggregate], estimates: Mapping[Place, ClusteredEstimate], backends: Backends
) -> list[ApplicationAggregate]:
    """Compute the figures over several others whose parts are all there, by models that they admit."""
    entries = {(entry.dataset, entry.figure): entry for entry in found}
    datasets = {name for name, _ in estimates}
    averages = []
    for row in AVERAGES.values():
        for dataset, parts in row.instances(datasets):
            average = combined(row, parts, estimates, backends)
            if average is not None:
                averages.append(_average(row, dataset, [entries[place] for place in parts], average))
    return averages


def _average(
    row: Composite, dataset: str, parts: Sequence[ApplicationAggregate], average: ClusteredEstimate
) -> ApplicationAggregate:
    by_dataset = [[entry for entry in parts if entry.dataset == name] for name in {entry.dataset for entry in parts}]
    return ApplicationAggregate(
        probe=row.probe,
        figure=row.figure.key,
        dataset=dataset,
        # clips of a dataset count once, by the term that has the fewest
        n=sum(min(entry.n for entry in own) for own in by_dataset),
        left_out=sum(max(entry.left_out for entry in own) for own in by_dataset),
        failed=sum(max(entry.failed for entry in own) for own in by_dataset),
        pairs=0,
        **average.scores(row.figure),
    )
