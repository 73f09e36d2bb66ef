"""One codec's score on two datasets that share no clip: their difference, and when it stands out among codecs.

The clips differ, so that nothing is paired: either dataset's score is computed again without each of its clusters while
the other is whole, and the variances add (:mod:`~codec_superb.pipeline.statistics.jackknife`).

A difference between a public and a private dataset is that of the datasets first of all: the private one may be harder
for every codec. What stands out is therefore held against the other codecs on the same two datasets.

Source: Leys and others, Detecting outliers: Do not use standard deviation around the mean, use absolute deviation
around the median, Journal of Experimental Social Psychology 2013 (three deviations as the careful choice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from codec_superb.metrics.results import NO_SCORE, Score
from codec_superb.metrics.table import overall_metrics
from codec_superb.pipeline.aggregates.interval import score_of
from codec_superb.pipeline.statistics.groups import SharedClips, group_rows, share
from codec_superb.pipeline.statistics.jackknife import Jackknife, combine
from codec_superb.pipeline.tables.rows import ClipRow

FEWEST_OTHERS: Final = 5
"""Other codecs without which nothing stands out: fewer have no typical difference."""
DEVIATIONS: Final = 3.0
"""Robust standard deviations that a difference must lie above the typical one."""
_NORMAL = 1.4826
"""Standard deviations in a median absolute deviation of normal values: the reciprocal of the normal quantile of 3/4."""


@dataclass(frozen=True, slots=True)
class UnpairedScores:
    """Overall scores of one codec in one category of two datasets."""

    first: Score
    second: Score
    difference: Score
    """First minus second; without a value where one of the two has none."""
    fewest: int
    """Clips of the second dataset behind the metric of its score that has the fewest."""


def unpaired_scores(first: Sequence[ClipRow], second: Sequence[ClipRow]) -> UnpairedScores:
    """Compare the rows of one category of a dataset with those of another dataset; without rows there is no score.

    Clips that failed are in no score, as in aggregates. Raises PipelineError when a clip has two rows.
    """
    joints = [_joint(rows) for rows in (first, second)]
    found = [_score(joint) for joint in joints]
    one, other = (score_of(each, 0.0, 1.0) if each else NO_SCORE for each in found)
    known = [each for each in found if each is not None]
    both = combine(lambda parts: parts[0] - parts[1], known) if len(known) == len(found) else None
    difference = score_of(both, -1.0, 1.0) if both else NO_SCORE
    return UnpairedScores(one, other, difference, min(joints[1].n) if joints[1] else 0)


def stands_out(difference: Score, others: Sequence[float]) -> bool:
    """Whether a difference is larger than those of ``others``, the values of other codecs on the same datasets.

    Two things must hold: its whole interval lies above their median, so that it is no chance of the clips; and it lies
    more than three robust standard deviations (1.4826 times the median absolute deviation) above it, so that it is no
    usual difference among codecs. False for fewer than five others.
    """
    if difference.value is None or difference.low is None or len(others) < FEWEST_OTHERS:
        return False
    typical = median(others)
    spread = _NORMAL * median(abs(value - typical) for value in others)
    return difference.low > typical and difference.value > typical + DEVIATIONS * spread


def _joint(rows: Sequence[ClipRow]) -> SharedClips | None:
    if not rows:
        return None
    ((group, members),) = group_rows(rows).items()
    return share(group, [members], overall_metrics(group.category))


def _score(joint: SharedClips | None) -> Jackknife | None:
    scores = joint.scores() if joint else None
    return scores.column(0) if scores else None
