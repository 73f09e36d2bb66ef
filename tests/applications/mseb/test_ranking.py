"""Search is exact, ties count against the relevant candidate, and figures of ranks are those of other libraries."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score
from support.profile import examples

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.mseb import ranking

COARSE = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30)
"""Scores with many ties."""


def marked(scores: list[float], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores with a random part of the candidates relevant."""
    return np.array(scores), np.random.default_rng(seed).random(len(scores)) < 0.4


def test_figures_of_ranks_two_one_and_absent() -> None:
    """The known answers: MRR .5, NDCG .54364, recall 2/3, exact match 1/3; a rank beyond the tenth is absent."""
    ranks = np.array([2.0, 1.0, 0.0])
    assert ranking.reciprocal_rank(ranks).mean() == 0.5
    assert ranking.discounted_gain(ranks).mean() == pytest.approx(0.54364, abs=5e-6)
    assert ranking.is_found(ranks).mean() == pytest.approx(2 / 3)
    assert ranking.is_first(ranks).mean() == pytest.approx(1 / 3)
    assert ranking.discounted_gain(np.array([2.0]))[0] == pytest.approx(0.63093, abs=5e-6)
    far = np.array([11.0])
    assert [f(far)[0] for f in (ranking.reciprocal_rank, ranking.discounted_gain, ranking.is_found)] == [0, 0, 0]


@given(st.lists(st.integers(0, 14), min_size=1, max_size=20))
def test_agrees_with_trec_eval(ranks: list[int]) -> None:
    """Reciprocal rank, NDCG, recall and success of one relevant document each, as trec_eval computes them."""
    truth = {str(n): {"right": 1} for n in range(len(ranks))}
    run = {}
    for n, rank in enumerate(ranks):
        listed = [f"wrong{place}" for place in range(14)]
        if rank:
            listed.insert(rank - 1, "right")
        run[str(n)] = {name: 100.0 - place for place, name in enumerate(listed[:10])}
    asked = {"recip_rank", "ndcg_cut.10", "recall.10", "success.1"}
    theirs = pytrec_eval.RelevanceEvaluator(truth, asked).evaluate(run)
    given_ranks = np.array(ranks, np.float64)
    for name, ours in (
        ("recip_rank", ranking.reciprocal_rank(given_ranks)),
        ("ndcg_cut_10", ranking.discounted_gain(given_ranks)),
        ("recall_10", ranking.is_found(given_ranks)),
        ("success_1", ranking.is_first(given_ranks)),
    ):
        assert ours == pytest.approx([theirs[str(n)][name] for n in range(len(ranks))])


@given(COARSE, st.integers(0, 99))
def test_average_precision_is_that_of_scikit_learn(scores: list[float], seed: int) -> None:
    """Tied scores form one threshold; without a relevant candidate it is 0; the order of candidates says nothing."""
    values, relevant = marked(scores, seed)
    ours = ranking.average_precision(values, relevant)
    assert ours == pytest.approx(average_precision_score(relevant, values) if relevant.any() else 0.0)
    turned = np.random.default_rng(seed).permutation(len(values))
    assert ranking.average_precision(values[turned], relevant[turned]) == ours


def test_a_tie_of_truth_and_one_other_has_half_the_precision() -> None:
    """The known answers: tied .5; truth second of three .5."""
    assert ranking.average_precision(np.array([1.0, 1.0]), np.array([True, False])) == 0.5
    assert ranking.average_precision(np.array([3.0, 2.0, 1.0]), np.array([False, True, False])) == 0.5


@given(COARSE.filter(lambda scores: len(scores) > 1), st.integers(0, 99), st.integers(1, 5))
def test_gain_of_the_first_is_that_of_scikit_learn(scores: list[float], seed: int, cut: int) -> None:
    """Several relevant candidates, with tied ones sharing the gain of their places."""
    values, relevant = marked(scores, seed)
    theirs = ndcg_score([relevant.astype(int)], [values], k=cut) if relevant.any() else 0.0
    assert ranking.gain_of_first(values, relevant, cut) == pytest.approx(theirs)


@given(COARSE, st.integers(0, 99))
def test_a_rank_counts_every_irrelevant_candidate_that_scores_as_much(scores: list[float], seed: int) -> None:
    """A model that gives all one score gains nothing; the order of candidates says nothing."""
    values, relevant = marked(scores, seed)
    rank = ranking.rank_of(values, relevant)
    if not relevant.any():
        assert rank == 0
        return
    best = values[relevant].max()
    assert rank == 1 + sum(value >= best for value, mine in zip(values, relevant, strict=True) if not mine)
    turned = np.random.default_rng(seed).permutation(len(values))
    assert ranking.rank_of(values[turned], relevant[turned]) == rank


@examples(40)
@given(st.integers(1, 12), st.integers(1, 300), st.integers(1, 80), st.integers(0, 9))
def test_search_in_blocks_is_brute_force(queries: int, candidates: int, kept: int, seed: int) -> None:
    """Whatever the size of blocks, the best candidates are those of all scores in float64, ties in their order."""
    draw = np.random.default_rng(seed)
    # small whole numbers: products are exact, and many are equal
    asked, offered = (draw.integers(-2, 3, (n, 5)).astype(np.float32) for n in (queries, candidates))
    scores = asked.astype(np.float64) @ offered.astype(np.float64).T
    wanted = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
    sizes = ranking._QUERIES, ranking._CANDIDATES, ranking._AGAIN
    try:
        ranking._QUERIES, ranking._CANDIDATES, ranking._AGAIN = 5, 37, 3
        found = ranking.nearest(asked, offered, kept)
    finally:
        ranking._QUERIES, ranking._CANDIDATES, ranking._AGAIN = sizes
    assert (found.scores == np.take_along_axis(scores, wanted, axis=1)).all()
    beyond = found.scores > found.scores[:, -1:]  # of those that tie with the last kept any may be there
    assert (found.rows == wanted)[beyond].all()


def test_near_scores_are_told_apart_in_float64() -> None:
    """Two products that are one number in float32 are ranked by their exact values."""
    query = np.array([[1.0, 1e-5]], np.float32)
    offered = np.array([[1.0, 0.0], [1.0, 1e-4]], np.float32)
    assert len({float(score) for score in (query @ offered.T)[0]}) == 1
    found = ranking.nearest(query, offered)
    assert found.rows.tolist() == [[1, 0]]
    assert ranking.ranks_of(found, [{0}]).tolist() == [2]


def test_ranks_of_a_search() -> None:
    """The best of several relevant candidates counts; equal vectors of others stand before it; beyond ten is absent."""
    offered = np.ones((30, 2), np.float32) * np.arange(30, dtype=np.float32)[:, None]
    offered[28] = offered[29]
    found = ranking.nearest(np.ones((4, 2), np.float32), offered)
    assert ranking.ranks_of(found, [{29}, {29, 28}, {3, 27}, {3}]).tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize(("queries", "candidates"), [((1, 3), (5, 4)), ((1, 3), (0, 3)), ((3,), (5, 3))])
def test_vectors_that_do_not_go_together_are_an_error(queries: tuple[int, ...], candidates: tuple[int, ...]) -> None:
    """A model whose dimension changed is named by both shapes before anything is searched."""
    with pytest.raises(ApplicationError, match=r"got shapes .* and .*embed both with one model"):
        ranking.nearest(np.zeros(queries, np.float32), np.zeros(candidates, np.float32))
