"""Figures of classes, by scikit-learn and in any order of clips, for draws that hold a clip more than once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.mseb import figures

LABELS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=30)
"""Label, prediction, and how often a draw holds the clip."""


@given(LABELS)
def test_figures_of_single_labels_are_those_of_scikit_learn(clips: list[tuple[int, int, int]]) -> None:
    """Balanced accuracy over the classes that occur, F1 and precision weighted by clips, with repeated clips."""
    label, predicted, times = np.array(clips, float).T
    if not times.any():
        return
    evidence = Evidence({"label": label, "predicted": predicted})
    weights = np.stack([np.ones(len(label)), times])
    recall = [metrics.recall_score(label, predicted, labels=np.unique(label[w > 0]), average="macro",
                                   sample_weight=w, zero_division=0) for w in weights]  # fmt: skip
    assert figures.balanced_accuracy(evidence, weights) == pytest.approx(100 * np.array(recall))
    for ours, theirs in (
        (figures.weighted_f1, metrics.f1_score), (figures.weighted_precision, metrics.precision_score),
    ):  # fmt: skip
        expected = [theirs(label, predicted, average="weighted", sample_weight=w, zero_division=0) for w in weights]
        assert ours(evidence, weights) == pytest.approx(expected)


def test_balanced_accuracy_is_that_of_scikit_learn_by_name() -> None:
    """Two of three right in one class and none in the other: a third."""
    label, predicted = np.array([1.0, 1, 1, 2]), np.array([1.0, 1, 2, 1])
    found = figures.balanced_accuracy(Evidence({"label": label, "predicted": predicted}), np.ones((1, 4)))[0]
    assert found == pytest.approx(100 * metrics.balanced_accuracy_score(label, predicted)) == pytest.approx(100 / 3)


def test_multi_label_figures_of_the_known_answer() -> None:
    """Scores .9 .2 .7 and .1 .3 .8, truth {1, 2} and {3}, at .5: mAP .83333, micro F1 2/3, Hamming 1/3, subset .5."""
    scores, truth = np.array([[0.9, 0.2, 0.7], [0.1, 0.3, 0.8]]), np.array([[1, 1, 0], [0, 0, 1]])
    evidence = decided(scores, truth)
    ones = np.ones((1, 2))
    assert figures.map_over_all_classes(evidence, ones)[0] == pytest.approx(83.333, abs=5e-4)
    assert figures.micro_f1(evidence, ones)[0] == pytest.approx(2 / 3)
    assert figures.hamming_loss(evidence, ones)[0] == pytest.approx(1 / 3)
    assert figures.subset_accuracy(evidence, ones)[0] == 50.0


@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 99))
def test_multi_label_figures_are_those_of_scikit_learn(clips: int, classes: int, seed: int) -> None:
    """A class without positives counts 0 in the mean over all classes."""
    draw = np.random.default_rng(seed)
    scores, truth = draw.random((clips, classes)).round(1), (draw.random((clips, classes)) < 0.3).astype(int)
    evidence, ones = decided(scores, truth), np.ones((1, clips))
    present = truth.any(axis=0)
    if present.any():
        each = [metrics.average_precision_score(truth[:, n], scores[:, n]) for n in np.flatnonzero(present)]
        assert figures.map_over_all_classes(evidence, ones)[0] == pytest.approx(100 * sum(each) / classes)
    given_labels = (scores >= 0.5).astype(int)
    assert figures.hamming_loss(evidence, ones)[0] == pytest.approx(metrics.hamming_loss(truth, given_labels))
    assert figures.subset_accuracy(evidence, ones)[0] == pytest.approx(100 * (truth == given_labels).all(axis=1).mean())
    if truth.any() or given_labels.any():
        theirs = metrics.f1_score(truth.ravel(), given_labels.ravel(), zero_division=0)
        assert figures.micro_f1(evidence, ones)[0] == pytest.approx(theirs)


def test_what_is_not_known_takes_no_part() -> None:
    """Clips without an oracle leave the figure to the others; without probabilities it has no value."""
    evidence = Evidence({"rank": np.array([1.0, -1.0]), "share": np.array([-1.0, 0.5])})
    assert figures.mean_reciprocal_rank(evidence, np.ones((1, 2)), "rank")[0] == 1.0
    assert figures.known_mean(evidence, np.ones((1, 2)), "share")[0] == 0.5
    unknown = Evidence({name: -np.ones(2) for name in ("hits", "given", "labels", "classes")})
    for figure in (figures.micro_f1, figures.hamming_loss, figures.subset_accuracy):
        assert np.isnan(figure(unknown, np.ones((1, 2)))).all()


def decided(scores: np.ndarray, truth: np.ndarray) -> Evidence:
    """Return what is kept of clips with these scores ``(clips, classes)``: counts, and ranks with ties against."""
    given_labels = scores >= 0.5
    clip, kind = np.nonzero(truth)
    ranks = np.array([(scores[:, k] >= scores[c, k]).sum() for c, k in zip(clip, kind, strict=True)], float)
    values = {
        "labels": truth.sum(axis=1), "classes": np.full(len(truth), truth.shape[1]),
        "given": given_labels.sum(axis=1), "hits": (given_labels & (truth == 1)).sum(axis=1),
    }  # fmt: skip
    floats = {name: counts.astype(np.float64) for name, counts in values.items()}
    return Evidence(floats, clip, kind, np.ones(len(clip), np.bool_), ranks)
