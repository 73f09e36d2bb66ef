"""Friedman's test and Nemenyi's critical difference: Demšar's published example, the table of quantiles, properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.friedman import mean_ranks

# Demšar, JMLR 7 (2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on fourteen datasets
AUC = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip
NAMES = ("C4.5", "m", "cf", "m+cf")


def test_the_published_example() -> None:
    """Mean ranks, chi-square, F and the critical differences are those of Demšar's section 3.2.4 and Figure 1."""
    found = mean_ranks(AUC, NAMES, [str(n) for n in range(14)])
    ranks = {system.name: system.mean_rank for system in found.systems}
    assert ranks == pytest.approx({"C4.5": 3.143, "m": 2.000, "cf": 2.893, "m+cf": 1.964}, abs=5e-4)
    # the paper's 9.28 and 3.69 are without the correction for equal ranks, which makes them larger
    k, n = 4, 14
    plain = 12 * n / (k * (k + 1)) * (sum(rank**2 for rank in ranks.values()) - k * (k + 1) ** 2 / 4)
    assert plain == pytest.approx(9.28, abs=5e-3)
    assert found.chi_square > plain
    assert found.f == pytest.approx(13 * found.chi_square / (14 * 3 - found.chi_square))
    assert found.p_f < 0.05
    assert found.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=2e-3)  # Table 5: 2.569
    assert mean_ranks(AUC, NAMES, ["d"] * 14, alpha=0.1).critical_difference == pytest.approx(1.12, abs=5e-3)
    assert found.kendall_w == pytest.approx(found.chi_square / 42)


@pytest.mark.parametrize(("systems", "quantile"), [(3, 2.343), (5, 2.728), (10, 3.164)])
def test_quantiles_are_those_of_the_table(systems: int, quantile: float) -> None:
    """Demšar's Table 5 (a), at 0.05."""
    values = np.random.default_rng(0).normal(size=(6, systems))
    found = mean_ranks(values, [str(n) for n in range(systems)], [str(n) for n in range(6)])
    assert found.critical_difference / np.sqrt(systems * (systems + 1) / 36) == pytest.approx(quantile, abs=1e-3)


def test_one_order_everywhere_and_no_order_at_all() -> None:
    """W is 1 and F has no bound; W is 0 and nothing is significant. Distances rank the other way round."""
    values = np.tile([3.0, 1.0, 2.0], (5, 1))
    best = mean_ranks(values, "abc", "12345")
    assert (best.kendall_w, best.f, best.p_f) == (pytest.approx(1.0), None, 0.0)
    assert [system.name for system in best.systems] == ["a", "c", "b"]
    assert [s.name for s in mean_ranks(values, "abc", "12345", higher_is_better=False).systems] == ["b", "c", "a"]
    tied = mean_ranks(np.ones((5, 3)), "abc", "12345")
    assert (tied.kendall_w, tied.p, tied.groups) == (0.0, 1.0, ((0, 2),))


@given(st.integers(3, 8), st.integers(2, 12), st.integers(0, 99))
@examples(40)
def test_groups_hold_what_does_not_differ(systems: int, datasets: int, seed: int) -> None:
    """Two systems share a group exactly where their mean ranks are within the critical difference; ranks sum up."""
    values = np.random.default_rng(seed).normal(size=(datasets, systems)) + np.arange(systems) * (seed % 3)
    found = mean_ranks(values, [str(n) for n in range(systems)], [str(n) for n in range(datasets)])
    ranks = [system.mean_rank for system in found.systems]
    assert sum(ranks) == pytest.approx(systems * (systems + 1) / 2)
    for one in range(systems):
        for two in range(one + 1, systems):
            together = any(first <= one and two <= last for first, last in found.groups)
            assert together == (ranks[two] - ranks[one] <= found.critical_difference)


def test_two_codecs_or_one_dataset_are_refused() -> None:
    """The message says what to do instead."""
    with pytest.raises(PipelineError, match="got 2 on 4: give more runs; for two codecs see compare"):
        mean_ranks(np.ones((4, 2)), "ab", "1234")
