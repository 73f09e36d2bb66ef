"""An application metric on both sides with its bootstrap replicates, from which intervals and differences follow."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.metric_functions import Floats
from codec_superb.applications.table import SIDES, ProbeMetric
from codec_superb.metrics.results import Score
from codec_superb.pipeline.aggregates.evidence import PairedEvidence, probe_metric_function
from codec_superb.pipeline.aggregates.interval import score_of
from codec_superb.pipeline.statistics.bootstrap import drawn_counts, random_stream


class BootstrapEstimate(NamedTuple):
    """A figure on both sides; rows are reference and resynthesis."""

    point: Floats
    """Shape ``(2,)``."""
    draws: Floats
    """Shape ``(2, replicates)``, both rows of the same draws."""
    n: int
    """Clips that take part."""

    def scores(self, figure: ProbeMetric) -> dict[str, Score]:
        """Return value and interval of each side and of the loss."""
        sign = 1.0 if figure.higher_is_better else -1.0
        found = {str(side): score_of(float(self.point[row]), self.draws[row], self.n) for row, side in enumerate(SIDES)}
        # reference minus resynthesis within each draw: the loss is paired
        found["loss"] = score_of(
            sign * float(self.point[0] - self.point[1]), sign * (self.draws[0] - self.draws[1]), self.n
        )
        return found


def estimate(
    sides: PairedEvidence, dataset: str, seed: int, replicates: int
) -> Mapping[ProbeMetric, BootstrapEstimate]:
    """Compute a probe's figures and their replicates; one block of draws is in memory at a time.

    Probes of a dataset that the same clips take part in see the same draws.
    """
    figures, evidence = sides.probe.metrics, (sides.reference, sides.resynthesis)
    count = len(sides.clips)
    if not count:
        nothing = BootstrapEstimate(np.full(2, np.nan), np.full((2, replicates), np.nan), 0)
        return dict.fromkeys(figures, nothing)
    parts: dict[ProbeMetric, list[Floats]] = {figure: [] for figure in figures}
    # a stream of its own: an application that is added later changes no interval of a metric
    draws = drawn_counts(count, replicates, random_stream(seed, dataset, "applications"))
    for weights in chain([np.ones((1, count))], draws):  # the point estimate is the draw that holds each clip once
        for figure in figures:
            parts[figure].append(np.stack([probe_metric_function(figure)(side, weights) for side in evidence]))
    joined = {figure: np.concatenate(blocks, axis=1) for figure, blocks in parts.items()}
    return {
        figure: BootstrapEstimate(values[:, 0], values[:, 1:], int(contributing_clips(figure, sides).sum()))
        for figure, values in joined.items()
    }


def contributing_clips(figure: ProbeMetric, sides: PairedEvidence) -> NDArray[np.bool_]:
    """Tell which of the clips count in the unit of the figure."""
    if not figure.per:
        return np.ones(len(sides.clips), np.bool_)
    # a word error rate counts the clips that have words; those counted in characters have none
    return np.asarray(sides.reference.values[figure.per] > 0)
