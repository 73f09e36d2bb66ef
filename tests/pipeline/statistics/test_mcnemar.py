"""McNemar's exact test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.table import APPLICATIONS, PROBES
from codec_superb.pipeline.aggregates.evidence import changed_answers
from codec_superb.pipeline.statistics.mcnemar import Discordant, discordant


@pytest.mark.parametrize(("lost", "gained", "p"), [(6, 1, 0.125), (10, 0, 0.001953125), (3, 3, 1.0), (0, 0, 1.0)])
def test_known_answers(lost: int, gained: int, p: float) -> None:
    """2 (1 + 7) / 2^7, 2 / 2^10; nothing that differs is no evidence. The order of the two is irrelevant."""
    assert Discordant(lost, gained).p == pytest.approx(p)
    assert Discordant(gained, lost).p == pytest.approx(p)


def test_it_is_the_binomial_test_of_scipy() -> None:
    """For all counts of up to 25 clips that differ, and many."""
    for lost, gained in [(at, n - at) for n in range(1, 26) for at in range(n + 1)] + [(480, 520), (60, 900)]:
        assert Discordant(lost, gained).p == pytest.approx(binomtest(lost, lost + gained).pvalue, rel=1e-9, abs=1e-300)


def test_clips_are_counted_in_pairs() -> None:
    """Those that are alike on both sides say nothing."""
    first, second = np.array([1.0, 1, 0, 0, 1]), np.array([1.0, 0, 1, 0, 0])
    assert discordant(first, second) == Discordant(2, 1)


def test_only_the_accuracy_of_a_task_is_tested() -> None:
    """The first figure of a choice task counts clips that changed; its other figures, and other probes, do not."""
    probe = next(PROBES[key] for key in APPLICATIONS["understanding"] if PROBES[key].sided[0].name == "correct")
    sides = [Evidence({"correct": np.array(values)}) for values in ([1.0, 1, 0], [0.0, 0, 1])]
    found = [changed_answers(figure, probe, *sides) for figure in probe.metrics]
    assert found == [Discordant(2, 1), None, None, None]
    assert changed_answers(PROBES["asr"].metrics[0], PROBES["asr"], *sides) is None
