"""Metrics of speaker verification from scored trials: equal error rate and minimum detection cost.

A trial is accepted when its score is above a threshold. ``miss`` is the share of trials of one speaker that are
rejected, ``false alarm`` that of trials of two speakers that are accepted. Between two neighbouring scores nothing
changes, so the thresholds at every distinct score, and one below all, give the whole ROC.

A trial counts as often as the product of the weights of its two clips: without a speaker all trials of
the speaker's clips are gone.

Sources: the evaluation plans of NIST's Speaker Recognition Evaluations; Brummer and de Villiers, The BOSARIS Toolkit,
2011.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.metric_functions import FALSE_ALARM_COST, MISS_COST, TARGET_PRIOR, Evidence, Floats

Integers = NDArray[np.int64]
_CHUNK = 2**21
"""Draws times trials at once: 16 MiB an array."""


def equal_error_rate(evidence: Evidence, weights: Floats) -> Floats:
    """Rate in percent at which misses equal false alarms, on the ROC with straight lines between its points.

    ``weights`` has shape ``(draws, clips)``; the answer, shape ``(draws,)``, is NaN where a draw has no trial of one
    speaker or none of two. Example: targets 0.4, 0.7, 0.9 and others 0.1, 0.5 cross between the points (0.5, 0.333) and
    (0, 0.333), at 33.33 %.
    """
    rates = [_crossing(miss, false_alarm) for miss, false_alarm in _curves(evidence, weights)]
    return 100.0 * np.concatenate(rates) if rates else np.zeros(0)


def minimum_detection_cost(evidence: Evidence, weights: Floats) -> Floats:
    """Least cost over all thresholds, divided by that of a system that always answers the same: from 0 to 1.

    The cost is ``P_target C_miss miss + (1 - P_target) C_false_alarm false alarm`` with a prior of 0.01 and costs of 1.
    Shapes and NaN as of :func:`equal_error_rate`.
    """
    missing, alarming = TARGET_PRIOR * MISS_COST, (1.0 - TARGET_PRIOR) * FALSE_ALARM_COST
    # NIST divides by the better of rejecting and of accepting everybody.
    costs = [
        (missing * miss + alarming * false_alarm).min(axis=1) / min(missing, alarming)
        for miss, false_alarm in _curves(evidence, weights)
    ]
    return np.concatenate(costs) if costs else np.zeros(0)


def _crossing(miss: Floats, false_alarm: Floats) -> Floats:
    """Return where the polyline through ``(false alarm, miss)`` meets the diagonal, for each row."""
    difference = miss - false_alarm  # rises from -1 to 1 along a row
    if difference.shape[1] == 1:  # no trial at all
        return np.full(len(difference), np.nan)
    undefined = np.isnan(difference[:, -1])
    after = np.where(undefined, 1, np.argmax(difference >= 0.0, axis=1))[:, None]
    low, high = (np.take_along_axis(difference, index, axis=1)[:, 0] for index in (after - 1, after))
    start, end = (np.take_along_axis(miss, index, axis=1)[:, 0] for index in (after - 1, after))
    return start + (end - start) * (-low / (high - low))


def _curves(evidence: Evidence, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield misses and false alarms of a few draws at a time, each of shape ``(draws, thresholds)``.

    Thresholds rise: from one that accepts every trial to the highest score, which accepts none. NaN fills the row of a
    draw without trials of that kind.
    """
    order = np.argsort(evidence.scores, kind="stable")
    scores = evidence.scores[order]
    last = np.flatnonzero(np.append(np.diff(scores) > 0, True)[: len(scores)])  # of the trials that share a score
    step = max(1, _CHUNK // max(1, len(scores)))
    for start in range(0, len(weights), step):
        drawn = weights[start : start + step]
        miss, rejected = (_share_reached(evidence, drawn, order, last, kind) for kind in (True, False))
        yield miss, 1.0 - rejected


def _share_reached(evidence: Evidence, drawn: Floats, order: Integers, last: Integers, kind: bool) -> Floats:
    """Return the share of the trials of one kind at or below each threshold, shape ``(draws, thresholds)``."""
    chosen = evidence.target[order] == kind
    trials = order[chosen]
    sums = np.zeros((len(drawn), len(trials) + 1))
    np.cumsum(drawn[:, evidence.left[trials]] * drawn[:, evidence.right[trials]], axis=1, out=sums[:, 1:])
    total = sums[:, -1:]
    reached = sums[:, np.append(0, np.cumsum(chosen)[last])]
    share: Floats = np.divide(reached, total, out=np.full(reached.shape, np.nan), where=total > 0)
    return share
