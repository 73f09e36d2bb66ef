"""The simple loop that whole runs are timed against computes what this package computes."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from support.metrics import coded, speech

from codec_superb.metrics.score import score_pair

PERF = Path(__file__).parents[2] / "perf" / "metrics"


def test_the_loop_scores_as_this_package_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """All five metrics of its composition have the values that score_pair has, within the tolerances of the metrics."""
    monkeypatch.syspath_prepend(str(PERF))
    loop, scoring = (importlib.import_module(name) for name in ("end_to_end", "scoring"))
    for rate in (16_000, 44_100):
        x = speech(rate, 2.0, seed=1).astype("float32").astype("float64")
        y = coded(x, rate).astype("float32").astype("float64")
        ours = score_pair(x, y, rate, scoring.METRICS)
        for key, function in loop.PlainReference().functions().items():
            assert scoring.difference(key, ours[key], function(x, y, rate)) <= scoring.LIMITS[key]
