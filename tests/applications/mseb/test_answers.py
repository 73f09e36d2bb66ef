"""Answers: overlap of words, the mean over both kinds of questions, and the score that means no answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.mseb.answers import NO_ANSWER, Normal, crossing, threshold, token_f1
from codec_superb.applications.mseb.figures import geometric_mean_f1

WORDS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("target", "answer", "expected"),
    [
        ("b l a", "b l i", 2 / 3),
        ("a b", "a b c", 0.8),
        ("a", "A", 0.0),
        ("a.", "a", 0.0),
        ("a a", "a", 2 / 3),
        (NO_ANSWER, NO_ANSWER, 1.0),
        (NO_ANSWER, "No", 0.0),
        ("No", NO_ANSWER, 0.0),
        ("a", "", 0.0),
    ],
)
def test_known_answers(target: str, answer: str, expected: float) -> None:
    """Case and punctuation count; a word counts as often as both sides have it."""
    assert token_f1(target, answer) == pytest.approx(expected)


@given(WORDS, WORDS)
def test_f1_of_distinct_words_is_that_of_scikit_learn(target: list[str], answer: list[str]) -> None:
    """Without repetitions it is the F1 of two sets; with them it depends on neither order nor side."""
    found = token_f1(" ".join(target), " ".join(answer))
    assert 0.0 <= found <= 1.0
    assert found == token_f1(" ".join(sorted(answer)), " ".join(target[::-1]))
    sets = MultiLabelBinarizer(classes=list("abcde")).fit_transform([set(target), set(answer)])
    once = token_f1(" ".join(set(target)), " ".join(set(answer)))
    assert once == pytest.approx(f1_score(sets[0], sets[1], zero_division=0))


@pytest.mark.parametrize(
    ("answerable", "f1", "expected"),
    [([1, 1, 1, 0], [0.5, 0.5, 0.5, 1], 0.59460), ([1, 0], [0, 1], 0.0), ([0, 0], [1, 1], 1.0), ([1], [0.25], 0.25)],
)
def test_the_geometric_mean_is_weighted_by_counts(answerable: list[int], f1: list[float], expected: float) -> None:
    """The known answers; to say always that there is no answer is worth nothing, unless there never is one."""
    values = {"answerable": np.array(answerable, float), "f1": np.array(f1, float)}
    assert geometric_mean_f1(Evidence(values), np.ones((1, len(f1))), "f1")[0] == pytest.approx(expected, abs=5e-6)


def test_the_threshold_of_the_known_answer() -> None:
    """Weights of a half, means 2 and 8, variances 1: 5. Two far narrow ones of unequal variance have a crossing."""
    assert crossing(Normal(0.5, 2.0, 1.0), Normal(0.5, 8.0, 1.0)) == pytest.approx(5.0)
    assert crossing(Normal(0.5, 3.0, 1.0), Normal(0.5, 3.0, 1.0)) == 3.0


@given(st.floats(0.2, 0.8), st.floats(-1, 1), st.floats(0.5, 4), st.floats(0.1, 2), st.floats(0.1, 2))
def test_a_crossing_is_where_the_densities_are_equal(
    weight: float, mean: float, gap: float, spread: float, other: float
) -> None:
    """Both densities, by scipy, are equal there; without such a place it is half way."""
    one, two = Normal(weight, mean, spread**2), Normal(1 - weight, mean + gap, other**2)
    place = crossing(one, two)
    densities = [part.weight * norm.pdf(place, part.mean, np.sqrt(part.variance)) for part in (one, two)]
    halfway = place == (one.mean + two.mean) / 2
    assert halfway or densities[0] == pytest.approx(densities[1], rel=1e-4, abs=1e-9)
    assert crossing(two, one) == pytest.approx(place, rel=1e-6, abs=1e-6)


def test_a_crossing_of_equal_variances_is_the_root_that_scipy_finds() -> None:
    """Between two means the difference of the densities changes its sign once."""
    one, two = Normal(0.3, 0.2, 0.01), Normal(0.7, 0.8, 0.01)
    assert crossing(one, two) == pytest.approx(brentq(lambda x: one.at(x) - two.at(x), 0.2, 0.8), abs=1e-9)


def test_the_threshold_lies_between_two_heaps_whatever_their_order() -> None:
    """Scores around .3 and around .7 are divided between them; one score alone divides nothing."""
    draw = np.random.default_rng(0)
    scores = np.concatenate([draw.normal(0.3, 0.05, 200), draw.normal(0.7, 0.05, 300)])
    found = threshold(scores)
    assert 0.4 < found < 0.6
    assert threshold(draw.permutation(scores)) == found
    assert threshold(np.array([0.5, 0.5])) == 0.5
    assert threshold(np.zeros(0)) == 0.8
