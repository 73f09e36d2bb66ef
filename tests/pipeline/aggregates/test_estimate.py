"""Estimates of error rates of trials: how far their values without a speaker spread."""

from __future__ import annotations

import numpy as np
import pytest

from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.table import PROBES
from codec_superb.applications.verification import equal_error_rate
from codec_superb.pipeline.aggregates.estimate import estimate
from codec_superb.pipeline.aggregates.evidence import PairedEvidence

SPEAKERS = 60


def test_a_trial_of_two_speakers_counts_once() -> None:
    """The variance is that of rates without each speaker, less once the chance of the 60 trials of two speakers."""
    rng, clips = np.random.default_rng(3), np.arange(2 * SPEAKERS)
    left = np.r_[clips[::2], clips[::2]]
    right = np.r_[clips[1::2], np.roll(clips[1::2], 1)]
    target = np.repeat([True, False], SPEAKERS)
    side = Evidence({}, left, right, target, rng.normal(1.5 * target, 1.0))
    found = next(
        found.found
        for figure, found in estimate(
            PairedEvidence(PROBES["asv"], tuple(map(str, clips)), clips // 2, side, side)
        ).items()
        if "eer" in figure.key
    )
    rate, without = float(found.point[0]), found.left_out[0][:, 0]
    kept = [(left // 2 != speaker) & (right // 2 != speaker) for speaker in range(SPEAKERS)]
    direct = [
        equal_error_rate(Evidence({}, left[k], right[k], target[k], side.scores[k]), np.ones((1, len(clips))))
        for k in kept
    ]
    whole, less = (
        ((rate - np.ravel(values)) ** 2).sum() * (1 - 1 / SPEAKERS) ** 2 * SPEAKERS / (SPEAKERS - 1)
        for values in (direct, without)
    )
    assert 0 < rate < 50
    assert whole - less == pytest.approx(rate * (100 - rate) / (4 * SPEAKERS), rel=1e-9)
