"""From what probes kept to what is shown: each figure on the originals, on the resyntheses, and the loss between.

Only clips on which the probe is ok count; the others are counted beside. Intervals are those of the metrics
(:mod:`codec_superb.pipeline.statistics.bootstrap`): clips are drawn with replacement, and reference, resynthesis and
their difference are computed from the same draws. In a draw a trial counts as often as both of its clips together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from pydantic import Field, FiniteFloat

from codec_superb.applications.figures import Floats
from codec_superb.applications.table import PROBES, SIDES, Figure, Probe
from codec_superb.pipeline.application_evidence import (
    Sides,
    by_dataset_and_probe,
    evidence_of,
    figure_function,
    from_pairs,
    probes_present,
)
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.record import Record
from codec_superb.pipeline.rows import ClipRow, PairRow
from codec_superb.pipeline.score_interval import Score, score_of
from codec_superb.pipeline.statistics.bootstrap import drawn_counts, stream


class ApplicationAggregate(Record):
    """One figure of a probe on one dataset: the ceiling, the value, and what the codec lost."""

    probe: str
    """Key of the probe."""
    figure: str
    """Key of the figure, see ``applications.table``."""
    dataset: str
    """Name of the dataset; '' for a figure over several datasets."""
    n: int
    """Clips that take part."""
    left_out: int
    """Clips without the label that the probe needs."""
    failed: int
    """Clips without a resynthesis, or on which a model gave no answer."""
    pairs: int
    """Trials or ranks behind the figure; 0 for a figure of single clips."""
    reference: Score
    """On the original audio."""
    resynthesis: Score
    """On what the codec gave back."""
    loss: Score
    """Paired difference, positive where the codec lost: of errors resynthesis minus reference, else the opposite."""
    totals: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Sums of counts: ``words``, ``reference.substitutions``, …; empty for means."""


def aggregate_applications(
    rows: Iterable[ClipRow], pairs: Iterable[PairRow], *, seed: int, replicates: int
) -> tuple[ApplicationAggregate, ...]:
    """Compute every figure of every probe of the rows of one codec; deterministic whatever the order of both.

    A figure that has a value on neither side (characters of English) is absent, unless no clip takes part at all.
    Sorted by dataset, probes and figures as in the table. PipelineError for a pair of clips that take no part.
    """
    listed = list(rows)
    by_dataset: dict[str, list[ClipRow]] = {}
    for row in listed:
        by_dataset.setdefault(row.dataset, []).append(row)
    groups = by_dataset_and_probe(pairs)
    present = {name: probes_present(members) for name, members in by_dataset.items()}
    astray = sorted(place for place in groups if place[1] not in present.get(place[0], ()))
    if astray:
        raise PipelineError(f"pairs of {astray[0][1]} on {astray[0][0]!r}: expected clips with that probe, found none")
    found: list[ApplicationAggregate] = []
    for name in sorted(by_dataset):
        for key in present[name]:
            found += _probe(name, PROBES[key], by_dataset[name], groups.get((name, key), ()), seed, replicates)
    return tuple(found)


def _probe(
    dataset: str, probe: Probe, rows: Sequence[ClipRow], pairs: Sequence[PairRow], seed: int, replicates: int
) -> list[ApplicationAggregate]:
    sides = evidence_of(probe, rows, pairs)
    asked = [row for row in rows if row.category in probe.categories or probe.key in row.probes]
    states = [row.probes[probe.key].status if probe.key in row.probes else "failed" for row in asked]
    counts = {"left_out": states.count("left_out"), "failed": states.count("failed")}
    n = len(sides.clips)
    found = []
    for figure, (point, draws) in figure_draws(sides, dataset, seed, replicates).items():
        if n and np.isnan(point).all():
            continue
        sign = 1.0 if figure.higher_is_better else -1.0
        reference, resynthesis = (score_of(float(point[side]), draws[side], n) for side in (0, 1))
        found.append(
            ApplicationAggregate(
                probe=probe.key,
                figure=figure.key,
                dataset=dataset,
                n=n,
                pairs=sides.pairs if from_pairs(figure, probe) else 0,
                reference=reference,
                resynthesis=resynthesis,
                loss=score_of(sign * float(point[0] - point[1]), sign * (draws[0] - draws[1]), n),
                totals=_totals(figure, sides),
                **counts,
            )
        )
    return found


def figure_draws(sides: Sides, dataset: str, seed: int, replicates: int) -> Mapping[Figure, tuple[Floats, Floats]]:
    """Compute the values of a probe's figures, shape ``(2,)`` (reference, resynthesis), and their replicates.

    Replicates have the shape ``(2, replicates)``. A block of draws is in memory at a time.
    """
    figures = sides.probe.figures
    evidence = (sides.reference, sides.resynthesis)
    count = len(sides.clips)
    if not count:
        return {figure: (np.full(2, np.nan), np.full((2, replicates), np.nan)) for figure in figures}
    parts: dict[Figure, list[Floats]] = {figure: [] for figure in figures}
    draws = drawn_counts(count, replicates, stream(seed, dataset, f"probe {sides.probe.key}"))
    for weights in chain([np.ones((1, count))], draws):  # the value itself is the draw that holds each clip once
        for figure in figures:
            parts[figure].append(np.stack([figure_function(figure)(side, weights) for side in evidence]))
    joined = {figure: np.concatenate(blocks, axis=1) for figure, blocks in parts.items()}
    return {figure: (values[:, 0], values[:, 1:]) for figure, values in joined.items()}


def _totals(figure: Figure, sides: Sides) -> dict[str, float]:
    """Sum the counts behind an error rate."""
    if figure.field or sides.probe.pairs:
        return {}
    totals = {field.name: float(sides.reference.values[field.name].sum()) for field in sides.probe.shared}
    for name, side in zip(SIDES, (sides.reference, sides.resynthesis), strict=True):
        totals |= {f"{name}.{field.name}": float(side.values[field.name].sum()) for field in sides.probe.sided}
    return totals
