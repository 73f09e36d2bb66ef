"""Edits of units and of vectors: known answers, a plain dynamic programme, laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jiwer import process_words
from numpy.typing import NDArray
from support.profile import examples

from codec_superb.applications.mseb.stability import continuous_edit_cost, unit_edits


def test_known_answers() -> None:
    """Two edits of four units; opposite vectors are as far apart as vectors can be."""
    assert unit_edits(list("1234"), list("153")) / 4 == 0.5
    assert continuous_edit_cost(np.array([[50.0, 0.0]]), np.array([[-50.0, 0.0]])) / 2 == 1.0


units = st.lists(st.sampled_from("abcd"), min_size=1, max_size=12)


@given(units, st.lists(st.sampled_from("abcd"), max_size=12))
@examples(60)
def test_unit_edits_are_those_of_jiwer(reference: list[str], other: list[str]) -> None:
    """Units are words to jiwer."""
    counted = process_words(" ".join(reference), " ".join(other))
    assert unit_edits(reference, other) == counted.substitutions + counted.deletions + counted.insertions


def _by_cells(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Compute the same edit distance cell by cell."""
    scaled = [part / max(np.linalg.norm(part, axis=1).max(initial=0), 1e-300) for part in (one, two)]
    table = np.zeros((len(one) + 1, len(two) + 1))
    table[:, 0], table[0] = 2.0 * np.arange(len(one) + 1), 2.0 * np.arange(len(two) + 1)
    for i, left in enumerate(scaled[0], start=1):
        for j, right in enumerate(scaled[1], start=1):
            replaced = table[i - 1, j - 1] + np.linalg.norm(left - right)
            table[i, j] = min(replaced, table[i - 1, j] + 2.0, table[i, j - 1] + 2.0)
    return float(table[-1, -1])


@given(st.integers(0, 2**16), st.integers(0, 9), st.integers(0, 9), st.integers(1, 4))
@examples(40)
def test_continuous_edits_are_those_of_the_plain_programme(seed: int, left: int, right: int, dimensions: int) -> None:
    """Row by row gives what cell by cell gives; scale does not matter, equal sequences cost exactly nothing."""
    stream = np.random.default_rng(seed)
    one, two = stream.normal(size=(left, dimensions)), stream.normal(size=(right, dimensions))
    found = continuous_edit_cost(one, two)
    assert found == pytest.approx(_by_cells(one, two), abs=1e-9)
    assert found <= 2.0 * max(left, right) + 1e-9
    assert continuous_edit_cost(one, one) == 0.0
    assert continuous_edit_cost(7.0 * one, one) == pytest.approx(0.0, abs=1e-9)  # each side by its own longest vector


def test_a_frame_that_is_missing_costs_its_gap() -> None:
    """A deletion costs 2; frames without length are equal."""
    frames = np.eye(4)
    assert continuous_edit_cost(frames, frames[1:]) == 2.0
    assert continuous_edit_cost(np.zeros((3, 2)), np.zeros((3, 2))) == 0.0
