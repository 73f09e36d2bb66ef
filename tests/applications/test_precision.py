"""Mean average precision from ranks: hand-computed cases, scikit-learn's figure, and what a bootstrap weighs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from codec_superb.applications.average_precision import mean_average_precision
from codec_superb.applications.metric_functions import Evidence, Floats


def evidence(ranks: list[tuple[int, int, int]]) -> Evidence:
    """Make evidence of (clip, class, rank)."""
    table = np.array(ranks, dtype=np.int64).reshape(-1, 3)
    return Evidence({}, left=table[:, 0], right=table[:, 1], scores=table[:, 2].astype(float))


def from_scores(scores: Floats, labels: np.ndarray) -> Evidence:
    """Rank each clip within its classes, ties against it, from (clips, classes) scores and flags."""
    ranks = (scores[None, :, :] >= scores[:, None, :]).sum(axis=1)
    left, right = np.nonzero(labels)
    return Evidence({}, left=left, right=right, scores=ranks[left, right].astype(float))


def scikit(scores: Floats, labels: np.ndarray) -> float:
    """Macro average precision over the classes that have clips."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        present = labels.any(axis=0)
        return 100 * float(average_precision_score(labels[:, present], scores[:, present], average="macro"))


class TestByHand:
    """Cases small enough to compute on paper."""

    def test_ranks_one_and_three_of_a_class_average_five_sixths(self) -> None:
        """Two clips at ranks 1 and 3: (1/1 + 2/3) / 2 = 83.33 %."""
        value = mean_average_precision(evidence([(0, 0, 1), (1, 0, 3)]), np.ones((1, 4)))
        assert value == pytest.approx([100 * 5 / 6])

    def test_classes_count_alike_whatever_their_size(self) -> None:
        """A class of one clip at rank 2 (50 %) and one of two clips at ranks 1 and 2 (100 %) make 75 %."""
        value = mean_average_precision(evidence([(0, 7, 2), (1, 3, 1), (2, 3, 2)]), np.ones((1, 3)))
        assert value == pytest.approx([75.0])

    def test_tied_clips_share_the_last_rank(self) -> None:
        """Two clips of a class and two others with one score: each precision is 2/4."""
        assert mean_average_precision(evidence([(0, 0, 4), (1, 0, 4)]), np.ones((1, 4))) == pytest.approx([50.0])

    def test_nothing_to_average_is_no_number(self) -> None:
        """Without pairs, and in a draw that holds no clip of a class, the figure is NaN."""
        assert np.isnan(mean_average_precision(evidence([]), np.ones((2, 3)))).all()
        drawn = mean_average_precision(evidence([(0, 0, 1)]), np.array([[0.0, 3.0], [1.0, 2.0]]))
        assert np.isnan(drawn[0])
        assert drawn[1] == pytest.approx(100.0)

    def test_a_draw_weighs_the_precisions_of_its_clips(self) -> None:
        """Precisions 1 and 2/3, the first drawn three times and the second once: (3 + 2/3) / 4."""
        value = mean_average_precision(evidence([(0, 0, 1), (1, 0, 3)]), np.array([[3.0, 1.0, 0.0]]))
        assert value == pytest.approx([100 * (3 + 2 / 3) / 4])


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 6), st.sampled_from([2, 5, 10**9]))
def test_the_point_estimate_is_that_of_scikit_learn(seed: int, clips: int, classes: int, levels: int) -> None:
    """On random scores, with many ties or none, the figure equals scikit-learn's macro average precision."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, levels, (clips, classes)).astype(float)
    labels = random.random((clips, classes)) < 0.4
    labels[0, 0] = True
    value = mean_average_precision(from_scores(scores, labels), np.ones((1, clips)))
    assert value[0] == pytest.approx(scikit(scores, labels))


@given(st.integers(0, 2**32 - 1))
def test_each_draw_stands_alone_and_the_order_of_pairs_says_nothing(seed: int) -> None:
    """Draws together give what each gives alone, and shuffled pairs the same."""
    random = np.random.default_rng(seed)
    scores, labels = random.random((12, 3)), random.random((12, 3)) < 0.5
    labels[0] = True
    found = from_scores(scores, labels)
    weights = random.multinomial(12, np.full(12, 1 / 12), 4).astype(float)
    together = mean_average_precision(found, weights)
    alone = [mean_average_precision(found, row[None])[0] for row in weights]
    assert together == pytest.approx(alone, nan_ok=True)
    order = random.permutation(found.left.size)
    mixed = Evidence({}, left=found.left[order], right=found.right[order], scores=found.scores[order])
    assert mean_average_precision(mixed, weights) == pytest.approx(together, nan_ok=True)
