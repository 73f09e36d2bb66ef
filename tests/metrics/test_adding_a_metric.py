"""The guide's example is a working metric."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from support_metrics import speech

from codec_superb.metrics.score import metric_function, score_pair
from codec_superb.metrics.table import METRICS, Metric

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-metric.md"


@pytest.fixture
def level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Metric:
    """Add the metric of the guide to the table, from the two blocks of code that stand there."""
    function, row = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    (tmp_path / "level.py").write_text(function)
    specification = importlib.util.spec_from_file_location("level_of_the_guide", tmp_path / "level.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "level_of_the_guide", module)
    metric = replace(eval(row, {"Metric": Metric, "inf": inf}), target="level_of_the_guide:level")
    monkeypatch.setitem(METRICS, metric.key, metric)
    return metric


def test_the_metric_of_the_guide_scores_pairs(level: Metric) -> None:
    """Half the amplitude gives 6.02 dB, silence is undefined, beside any other metric."""
    x = speech(seconds=1.0)
    values = score_pair(x, 0.5 * x, 16_000, [level.key, "sdr"])
    assert values["level"].value == pytest.approx(6.0206, abs=1e-4)
    assert values["sdr"].value == pytest.approx(6.0206, abs=1e-4)
    silent = score_pair(x, np.zeros_like(x), 16_000, [level.key])["level"]
    assert (silent.status, silent.reason) == ("undefined", "the resynthesis is silent")
    metric_function.cache_clear()


def test_every_metric_has_its_definition_in_the_docs() -> None:
    """The page of definitions names every metric of the table."""
    page = (GUIDE.parent / "metrics.md").read_text()
    assert [key for key in METRICS if f"`{key}`" not in page] == []
