"""Tests and effect sizes of pairs: by hand, against scipy, and one observation a cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.profile import examples

from codec_superb.pipeline.statistics.effect import paired_test


def test_known_answers() -> None:
    """By hand: |d| of 3, -1, 2, 0 rank 3, 1, 2; R+ is 5 and R- is 1. Their mean is 1 and their variance 10/3."""
    found = paired_test(np.array([3.0, -1.0, 2.0, 0.0]), np.arange(4))
    assert found.rank_biserial == pytest.approx(4 / 6)
    assert found.cohen_dz == pytest.approx(1 / np.sqrt(10 / 3))
    # of the 8 patterns of signs, W of at most 1 on either side: 2 + 2
    assert found.p == pytest.approx(4 / 8)
    assert found.clusters == 4


def test_clips_of_a_cluster_are_one_observation() -> None:
    """A speaker with a hundred clips weighs as much as one with a single clip."""
    many = paired_test(np.array([*[1.0, 3.0] * 50, -1.0, 4.0]), np.array([*[7] * 100, 3, 5]))
    assert many == paired_test(np.array([-1.0, 4.0, 2.0]), np.arange(3))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=60))
@examples(24)
def test_swapped_codecs_have_the_opposite_effect(gaps: list[int]) -> None:
    """The p-value stays, and is scipy's of the clusters that differ; effects change their sign and keep their range."""
    ahead = np.array(gaps, dtype=float)
    one, two = paired_test(ahead, np.arange(len(gaps))), paired_test(-ahead, np.arange(len(gaps)))
    assert one.p == two.p
    for name in ("rank_biserial", "cohen_dz"):
        mine, other = getattr(one, name), getattr(two, name)
        assert (mine is None and other is None) or mine == pytest.approx(-other)
    assert one.rank_biserial is None or -1 <= one.rank_biserial <= 1
    differing = ahead[ahead != 0]
    assert one.p == (stats.wilcoxon(differing).pvalue if len(differing) > 1 else None)


def test_nothing_is_said_of_what_does_not_differ() -> None:
    """Equal codecs, a single cluster, and a difference that is the same everywhere."""
    assert paired_test(np.zeros(9), np.arange(9)).model_dump() == {
        "clusters": 9, "p": None, "rank_biserial": None, "cohen_dz": None,
    }  # fmt: skip
    assert paired_test(np.ones(3), np.zeros(3, dtype=np.int64)).p is None
    same = paired_test(np.full(3, 0.1), np.arange(3))
    assert (same.rank_biserial, same.cohen_dz) == (1.0, None)
