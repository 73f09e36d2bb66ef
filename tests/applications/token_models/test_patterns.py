"""Patterns of codebooks: nothing is lost, and nothing is known before its time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.errors import UnknownApplication
from codec_superb.applications.token_models.patterns import (
    EMPTY,
    PATTERNS,
    arrange,
    pattern_named,
    restore,
    steps_of,
)


@given(st.sampled_from(sorted(PATTERNS)), st.integers(1, 12), st.integers(0, 40), st.integers(0, 2**32 - 1))
@examples(400)
def test_a_pattern_and_back_is_the_identity(name: str, codebooks: int, frames: int, seed: int) -> None:
    """Of any codebooks and frames, none and one included, each token comes back and stands once in the grid."""
    tokens = np.random.default_rng(seed).integers(0, 99, (codebooks, frames))
    grid = arrange(tokens, PATTERNS[name])
    assert grid.shape == (steps_of(codebooks, frames, PATTERNS[name]), codebooks)
    assert (grid != EMPTY).sum() == tokens.size
    np.testing.assert_array_equal(restore(grid, PATTERNS[name]), tokens)


def test_grids_are_those_of_the_literature() -> None:
    """Two codebooks of three frames, written out as in figure 1 of arXiv:2306.05284; -1 where there is no token."""
    tokens = np.array([[1, 2, 3], [10, 20, 30]])
    wanted = {
        "flat": [[1, -1], [-1, 10], [2, -1], [-1, 20], [3, -1], [-1, 30]],
        "delay": [[1, -1], [2, 10], [3, 20], [-1, 30]],
        "parallel": [[1, 10], [2, 20], [3, 30]],
        "independent": [[1, 10], [2, 20], [3, 30]],
    }
    assert {name: arrange(tokens, of).tolist() for name, of in PATTERNS.items()} == wanted
    with pytest.raises(UnknownApplication, match="delay"):
        pattern_named("delayed")
