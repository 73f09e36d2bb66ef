"""Scores of one codec on two datasets without a common clip, and which differences stand out."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind
from support.pipeline.stats import KEYS, draw_rows, failed, ok, row
from support.profile import amount

from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.results import NO_SCORE, Score
from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.comparison.unpaired import stands_out, unpaired_scores
from codec_superb.pipeline.tables.rows import ClipRow


def sounds(dataset: str, values: np.ndarray) -> list[ClipRow]:
    """Rows of the category ``audio``, whose score rests on two distances; shape ``(clips, 2)``."""
    return [
        row(f"{dataset}/{n}", dataset=dataset, category="audio", metrics={"stft": ok(float(a)), "mel": ok(float(b))})
        for n, (a, b) in enumerate(values)
    ]


def test_either_score_is_that_of_the_aggregates() -> None:
    """Value and interval of each side are what every other page shows, and turned around the difference is negated."""
    one, other = draw_rows(1, 30, categories=("speech",)), draw_rows(2, 24, dataset="b", categories=("speech",))
    other = [*other, failed("b/broken", dataset="b")]
    found = unpaired_scores(one, other)
    for rows, score in ((one, found.first), (other, found.second)):
        (expected,) = aggregate(rows, metrics=KEYS).datasets
        assert score == expected.score
    assert found.fewest == 24
    turned = unpaired_scores(other[:-1], one).difference
    assert (turned.value, turned.low, turned.high) == pytest.approx(
        (-found.difference.value, -found.difference.high, -found.difference.low)  # type: ignore[operator]
    )


def test_nothing_is_said_without_a_side() -> None:
    """No rows, or a metric that nobody computed: no score and no difference."""
    rows = draw_rows(1, 20, categories=("speech",))
    assert unpaired_scores([], rows).difference == NO_SCORE
    assert unpaired_scores(rows, []).fewest == 0
    bare = [each.model_copy(update={"metrics": {"pesq": each.metrics["pesq"]}}) for each in rows]
    assert unpaired_scores(rows, bare).second == NO_SCORE


def test_interval_is_that_of_welch() -> None:
    """Where the score is nearly a straight line of one metric, the interval is SciPy's Welch interval of that line."""
    random = np.random.default_rng(3)
    sides = [np.column_stack([random.normal(mean, 0.002, n), np.full(n, 1.0)]) for mean, n in ((1.0, 40), (1.01, 25))]
    found = unpaired_scores(sounds("a", sides[0]), sounds("b", sides[1])).difference
    base, step = ({"stft": np.array(at), "mel": np.array(1.0)} for at in (1.005, 1.006))
    slope = (dataset_score(step, "audio") - dataset_score(base, "audio")) / 0.001
    welch = ttest_ind(sides[0][:, 0], sides[1][:, 0], equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(sorted((slope * welch.low, slope * welch.high)), rel=0.03)


def test_interval_covers() -> None:
    """Of intervals over skewed clips 95 % hold the true difference, within the noise of the simulation."""
    random = np.random.default_rng(11)
    truth = [dataset_score({"stft": np.array(m), "mel": np.array(m)}, "audio") for m in (1.2, 1.5)]
    times, held = amount(400, 4000), 0
    for _ in range(times):
        sides = [random.gamma(9.0, mean / 9.0, (n, 2)) for mean, n in ((1.2, 25), (1.5, 40))]
        found = unpaired_scores(sounds("a", sides[0]), sounds("b", sides[1])).difference
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth[0] - truth[1] <= found.high
    assert held / times == pytest.approx(0.95, abs=0.03 if times < 1000 else 0.012)


class TestStandsOut:
    """The rule of the warning."""

    usual = (0.02, 0.03, 0.04, 0.03, 0.025)

    def test_known_cases(self) -> None:
        """Large and sure stands out; large by chance, sure and usual, or beside four others does not."""
        large = Score(value=0.2, low=0.1, high=0.3)
        assert stands_out(large, self.usual)
        assert not stands_out(large.model_copy(update={"low": 0.02}), self.usual)
        assert not stands_out(Score(value=0.04, low=0.035, high=0.045), self.usual)
        assert not stands_out(large, self.usual[:4])
        assert not stands_out(NO_SCORE, self.usual)
        assert not stands_out(large, (0.0, 0.1, 0.2, 0.3, 0.4))

    @given(st.lists(st.floats(-0.5, 0.5), min_size=5, max_size=30), st.floats(-0.5, 0.5), st.floats(0, 0.3))
    def test_a_shift_of_all_changes_nothing(self, others: list[float], gap: float, arm: float) -> None:
        """A private dataset that is harder for everybody warns of nobody; nor does anybody at or below the median."""
        score = Score(value=gap, low=gap - arm, high=gap + arm)
        if gap <= median(others):
            assert not stands_out(score, others)
        lower = Score(value=gap, low=gap - arm - 0.1, high=gap + arm + 0.1)
        assert stands_out(score, others) or not stands_out(lower, others)
