"""Equal error rate and minimum detection cost: by hand, against scikit-learn and SpeechBrain, and as properties."""

from __future__ import annotations

import importlib
import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import interp1d
from scipy.optimize import brentq
from sklearn.metrics import roc_curve
from support.profile import examples

from codec_superb.applications import verification
from codec_superb.applications.asv.speechbrain_ecapa import import_speechbrain
from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.table import PROBE_METRICS
from codec_superb.applications.verification import equal_error_rate, minimum_detection_cost

_BOTH = [equal_error_rate, minimum_detection_cost]


def _evidence(targets: list[float], others: list[float]) -> Evidence:
    """Return trials in which every clip occurs once."""
    scores = np.array([*targets, *others], np.float64)
    left = np.arange(len(scores))
    return Evidence({}, left, left + len(scores), np.arange(len(scores)) < len(targets), scores)


def _rate(targets: list[float], others: list[float]) -> float:
    return float(equal_error_rate(_evidence(targets, others), np.ones((1, 2 * (len(targets) + len(others)))))[0])


def _cost(targets: list[float], others: list[float]) -> float:
    ones = np.ones((1, 2 * (len(targets) + len(others))))
    return float(minimum_detection_cost(_evidence(targets, others), ones)[0])


def _random_trials(seed: int, pairs: int = 300, clips: int = 40, digits: int = 1) -> Evidence:
    """Return trials with many equal scores."""
    generator = np.random.default_rng(seed)
    target = generator.random(pairs) < 0.4
    scores = np.round(generator.normal(size=pairs) + 1.2 * target, digits)
    left, right = generator.integers(0, clips, (2, pairs))
    return Evidence({}, left, right, target, scores)


class TestByHand:
    """Worked cases."""

    @pytest.mark.parametrize(
        ("targets", "others", "rate"),
        [
            ([0.8, 0.9], [0.1, 0.2], 0.0),  # apart
            ([0.1, 0.2], [0.8, 0.9], 100.0),  # the wrong way round
            ([0.5, 0.5], [0.5, 0.5], 50.0),  # all alike: the straight line from (1, 0) to (0, 1)
            ([0.4, 0.7, 0.9], [0.1, 0.5], 100 / 3),  # see the docstring
            ([0.2, 0.6, 0.7, 0.8], [0.1, 0.3, 0.4, 0.5], 25.0),  # one of four each
            ([0.5, 0.9], [0.5, 0.1], 25.0),  # the tie goes half each way: between (1/2, 0) and (0, 1/2)
            ([0.5, 0.5, 0.9], [0.5], 40.0),  # from (1, 0) to (0, 2/3): t = 1 - 2t/3... t = 3/5, miss 2/5
        ],
    )
    def test_equal_error_rate(self, targets: list[float], others: list[float], rate: float) -> None:
        """The rate where the polyline of the ROC meets the diagonal."""
        assert _rate(targets, others) == pytest.approx(rate, abs=1e-9)

    @pytest.mark.parametrize(
        ("targets", "others", "cost"),
        [
            ([0.8, 0.9], [0.1, 0.2], 0.0),
            ([0.1, 0.2], [0.8, 0.9], 1.0),  # best to reject all
            ([0.2, 0.6, 0.7, 0.8], [0.1, 0.3, 0.4, 0.5], 0.25),  # one false alarm costs 99 * 1/4: miss one instead
            ([0.4, 0.7, 0.9], [0.1, 0.5], 1 / 3),
            ([1.0] * 9 + [0.0], [0.5] + [-1.0] * 999, 0.099),  # 99 * 1/1000 for all targets; a miss costs 0.1
        ],
    )
    def test_detection_cost(self, targets: list[float], others: list[float], cost: float) -> None:
        """The least of miss + 99 false alarm, the cost of rejecting all being 1."""
        assert _cost(targets, others) == pytest.approx(cost, abs=1e-12)

    def test_the_table_points_here(self) -> None:
        """The figures of the table are these functions."""
        for key, function in (("asv_eer_pct", equal_error_rate), ("asv_mindcf", minimum_detection_cost)):
            module, _, name = PROBE_METRICS[key].target.partition(":")
            assert getattr(importlib.import_module(module), name) is function


class TestAgainstOthers:
    """Independent implementations."""

    @pytest.mark.parametrize("seed", range(6))
    def test_scikit_learns_roc(self, seed: int) -> None:
        """The root of scikit-learn's ROC, interpolated, is our equal error rate, ties included."""
        trials = _random_trials(seed)
        false_alarm, hit, _ = roc_curve(trials.target, trials.scores)
        expected = brentq(lambda rate: 1.0 - rate - interp1d(false_alarm, hit)(rate), 0.0, 1.0, xtol=1e-12)
        assert equal_error_rate(trials, np.ones((1, 40)))[0] == pytest.approx(100 * expected, abs=1e-6)

    @pytest.mark.parametrize("seed", range(3))
    def test_speechbrain(self, seed: int) -> None:
        """SpeechBrain's EER at the point nearest to equality is within a step of ours, its minDCF is ours over 100."""
        import_speechbrain()
        metric_stats: Any = importlib.import_module("speechbrain.utils.metric_stats")
        trials = _random_trials(seed, digits=6)
        targets, others = (torch.tensor(trials.scores[trials.target == kind]) for kind in (True, False))
        step = 100 / min(len(targets), len(others))
        ours = equal_error_rate(trials, np.ones((1, 40)))[0]
        assert ours == pytest.approx(100 * metric_stats.EER(targets, others)[0], abs=step)
        ours = minimum_detection_cost(trials, np.ones((1, 40)))[0]
        assert 0 < ours < 1
        assert 0.01 * ours == pytest.approx(metric_stats.minDCF(targets, others)[0], rel=1e-5)


class TestDraws:
    """Weights of a bootstrap."""

    @pytest.mark.parametrize("figure", _BOTH)
    @given(seed=st.integers(0, 2**32 - 1))
    @examples(20)
    def test_a_weight_is_a_repetition(self, figure: Any, seed: int) -> None:
        """A trial whose clips weigh 2 and 3 counts as six trials."""
        trials = _random_trials(seed, pairs=40, clips=8)
        weights = np.random.default_rng(seed).integers(0, 4, 8)
        times = weights[trials.left] * weights[trials.right]
        repeated = Evidence(
            {}, *(np.repeat(part, times) for part in (trials.left, trials.right, trials.target, trials.scores))
        )
        (expected,) = figure(repeated, np.ones((1, 8)))
        np.testing.assert_allclose(figure(trials, weights[None].astype(float)), [expected], atol=1e-9)

    @pytest.mark.parametrize("figure", _BOTH)
    def test_draws_do_not_see_each_other(self, figure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A thousand draws at once, in small parts, and one by one are equal to the last bit."""
        trials = _random_trials(1)
        weights = np.random.default_rng(0).multinomial(40, np.full(40, 1 / 40), size=100).astype(float)
        whole = figure(trials, weights)
        np.testing.assert_array_equal(whole, np.concatenate([figure(trials, row[None]) for row in weights]))
        monkeypatch.setattr(verification, "_CHUNK", 1000)
        np.testing.assert_array_equal(whole, figure(trials, weights))

    @pytest.mark.parametrize("figure", _BOTH)
    def test_nothing_to_divide_by(self, figure: Any) -> None:
        """A draw without trials of one kind, and evidence without trials, are NaN; no draw is no answer."""
        trials = Evidence({}, np.array([0, 0]), np.array([1, 2]), np.array([True, False]), np.array([0.7, 0.3]))
        answers = figure(trials, np.array([[1.0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1]]))
        np.testing.assert_array_equal(answers, [0.0, np.nan, np.nan, np.nan])
        np.testing.assert_array_equal(figure(Evidence({}), np.ones((2, 3))), [np.nan, np.nan])
        assert figure(trials, np.ones((0, 3))).shape == (0,)

    def test_memory_is_bounded(self) -> None:
        """Two hundred draws of 40,000 trials, 64 MB an array if done at once, take less than that in all."""
        trials = _random_trials(0, pairs=40_000, clips=4_000, digits=9)
        weights = np.ones((200, 4_000))
        tracemalloc.start()
        minimum_detection_cost(trials, weights)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 120e6, peak


class TestProperties:
    """What must hold of any trials."""

    @given(seed=st.integers(0, 2**32 - 1))
    @examples(30)
    def test_only_the_order_of_scores_counts(self, seed: int) -> None:
        """A rising function of the scores and another order of trials change nothing; figures stay in their range."""
        trials = _random_trials(seed, pairs=60)
        order = np.random.default_rng(seed).permutation(60)
        changed = Evidence(
            {}, trials.left[order], trials.right[order], trials.target[order], np.exp(trials.scores[order]) - 5
        )
        for figure, highest in ((equal_error_rate, 100.0), (minimum_detection_cost, 1.0)):
            ours, again = figure(trials, np.ones((1, 40))), figure(changed, np.ones((1, 40)))
            np.testing.assert_allclose(ours, again, atol=1e-9)
            assert 0.0 <= ours[0] <= highest

    @given(seed=st.integers(0, 2**32 - 1))
    @examples(30)
    def test_equal_errors_know_no_side(self, seed: int) -> None:
        """With labels and signs of the scores turned round, the equal error rate is the same."""
        trials = _random_trials(seed, pairs=60)
        turned = Evidence({}, trials.left, trials.right, ~trials.target, -trials.scores)
        np.testing.assert_allclose(
            equal_error_rate(trials, np.ones((1, 40))), equal_error_rate(turned, np.ones((1, 40))), atol=1e-9
        )

    @given(seed=st.integers(0, 2**32 - 1))
    @examples(30)
    def test_the_cost_is_no_more_than_at_equal_errors(self, seed: int) -> None:
        """No threshold beats the least cost: not even one drawn at random."""
        trials = _random_trials(seed, pairs=60)
        accepted = trials.scores > np.random.default_rng(seed).choice(trials.scores)
        miss, alarm = 1 - accepted[trials.target].mean(), accepted[~trials.target].mean()
        assert minimum_detection_cost(trials, np.ones((1, 40)))[0] <= miss + 99 * alarm + 1e-12
