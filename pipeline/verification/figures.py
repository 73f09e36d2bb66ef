"""Compare figures that depend on an order or a threshold: limits of single numbers bound no equal error rate or recall.

Numbers that move by little, each to the other side of a threshold, change their mean and spread by next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

import numpy as np

from codec_superb.applications.metric_functions import Evidence, mean, percentage
from codec_superb.applications.probe import SIDES, Probe, ProbeMetric
from codec_superb.pipeline.aggregates.evidence import paired_evidence_of, probe_metric_function
from codec_superb.pipeline.tables.rows import ClipRow, KeptRow
from codec_superb.pipeline.verification.statement import Difference
from codec_superb.pipeline.verification.tolerances import OTHER_SOUND, SAME_SOUND, of_mean

Kept = tuple[Sequence[ClipRow], Iterable[KeptRow]]
"""Rows of a dataset's clips, and its pairs."""
_MEANS = frozenset(f"{of.__module__}:{of.__name__}" for of in (mean, percentage))
"""What computes a figure that the limits of its field's mean bound."""
STEPS = 2
"""Trials, ranks or clips that may tip over, however few there are: on ``mini`` one trial is 1.5 points."""


def compare_figures(probe: Probe, there: Kept, here: Kept, *, alike: bool) -> list[Difference]:
    """Compare the figures of a probe, submitted and found, over the clips that have its numbers on both sides.

    Means, and what has no largest value (rates of errors), are left out: their own limits bound them. ``alike``: all
    clips sound the same to the last bit. Originals always do.
    """
    figures = [figure for figure in probe.metrics if _is_no_mean(figure, probe)]
    clips = _taking(probe, there[0]) & _taking(probe, here[0])
    if not figures or not clips:
        return []
    one, other = (
        paired_evidence_of(probe, rows, [pair for pair in kept if pair.probe == probe.key], clips)
        for rows, kept in (there, here)
    )
    return [
        difference
        for side in SIDES
        for difference in _differing(
            side, figures, getattr(one, side), getattr(other, side), len(clips), alike=alike or side == "reference"
        )
    ]


def _is_no_mean(figure: ProbeMetric, probe: Probe) -> bool:
    """Whether it follows from an order, or from which clips are beyond a threshold: a sentence error rate, a recall."""
    scaled = isfinite(figure.minimum) and isfinite(figure.maximum)
    return scaled and figure.target not in _MEANS and probe.pairs not in ("frames", "counts")


def _taking(probe: Probe, rows: Iterable[ClipRow]) -> set[str]:
    return {row.clip for row in rows if probe.key in row.probes and row.probes[probe.key].status == "ok"}


def _differing(
    side: str, figures: Iterable[ProbeMetric], one: Evidence, other: Evidence, clips: int, *, alike: bool
) -> Iterator[Difference]:
    table = SAME_SOUND if alike else OTHER_SOUND
    for figure in figures:
        compute = probe_metric_function(figure)
        submitted, found = (float(compute(evidence, np.ones((1, clips)))[0]) for evidence in (one, other))
        limits = table.get(figure.key) or table["figure"]
        # an answer of each clip, such as a rank beyond ten, tips over as other answers do
        share = of_mean(OTHER_SOUND["answer"], clips) if figure.field and not alike else limits.clip
        allowed = max(share, STEPS / _fewest(other, clips)) * (figure.maximum - figure.minimum)
        if isfinite(submitted) and isfinite(found) and abs(found - submitted) > allowed:
            quantity = f"{figure.key}, {side}"
            yield Difference(quantity=quantity, submitted=submitted, found=found, allowed=allowed)


def _fewest(evidence: Evidence, clips: int) -> int:
    """Return of what a figure counts: the rarer kind of trials, ranks, or clips."""
    if not evidence.scores.size:
        return clips
    targets = int(evidence.target.sum())
    return min(targets, evidence.target.size - targets) or targets or 1
