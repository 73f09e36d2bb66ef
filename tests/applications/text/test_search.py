"""Exact search: what all products in float64 say, whatever the blocks, rounding and ties."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.neighbors import NearestNeighbors
from support.profile import examples

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.text import search as module
from codec_superb.applications.text.search import among, recall, search


def brute(queries: np.ndarray, candidates: np.ndarray, relevant: list[list[int]]) -> list[int]:
    """Return the ranks from the whole matrix in float64."""
    products = queries.astype(np.float64) @ candidates.astype(np.float64).T
    ranks = []
    for row, wanted in zip(products, relevant, strict=True):
        mine = np.isin(np.arange(row.size), wanted)
        ranks.append(1 + int((row[~mine] >= row[mine].max()).sum()) if wanted else 0)
    return ranks


def made(
    count: int, queries: int, width: int = 16, kind: str = "float32"
) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Make unit vectors and queries near one of them each, some far."""
    generator = np.random.default_rng(count)
    candidates = generator.normal(size=(count, width))
    candidates /= np.linalg.norm(candidates, axis=1, keepdims=True)
    wanted = generator.integers(0, count, queries)
    asked = candidates[wanted] + generator.normal(size=(queries, width)) * generator.uniform(0, 1, (queries, 1))
    return asked.astype(kind), candidates.astype(kind), [[int(row)] for row in wanted]


@pytest.mark.sample(1, over="kind")
@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize(("count", "queries"), [(1, 3), (63, 5), (64, 5), (65, 5), (20_001, 700)])
def test_ranks_and_best_are_those_of_the_whole_matrix(count: int, queries: int, kind: str) -> None:
    """Fewer candidates than are kept, some blocks and a rest, both precisions; ranks beyond ten too."""
    asked, candidates, relevant = made(count, queries, kind=kind)
    found = search(asked, candidates, relevant)
    assert found.ranks.tolist() == brute(asked, candidates, relevant)
    products = asked.astype(np.float64) @ candidates.astype(np.float64).T
    best = np.argsort(-products, axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(found.rows, best)
    np.testing.assert_allclose(found.scores, np.take_along_axis(products, best, axis=1), rtol=1e-12)


def test_the_best_are_those_of_scikit_learn() -> None:
    """Of unit vectors the nearest by distance."""
    asked, candidates, relevant = made(3000, 50)
    theirs = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(candidates.astype(np.float64))
    _, rows = theirs.kneighbors(asked.astype(np.float64))
    np.testing.assert_array_equal(search(asked, candidates, relevant).rows, rows)


@examples(200)
@given(data=st.data())
def test_ties_count_against_the_relevant(data: st.DataObject) -> None:
    """Small whole numbers, where products tie all the time; several relevant, or none."""
    count, queries, width = (data.draw(st.integers(1, high)) for high in (90, 4, 3))
    whole = st.integers(-2, 2).map(float)
    candidates = data.draw(arrays.arrays(np.float32, (count, width), elements=whole))
    asked = data.draw(arrays.arrays(np.float32, (queries, width), elements=whole))
    relevant = data.draw(
        st.lists(st.lists(st.integers(0, count - 1), max_size=3, unique=True), min_size=queries, max_size=queries)
    )
    found = search(asked, candidates, relevant)
    assert found.ranks.tolist() == brute(asked, candidates, relevant)


def test_what_float32_cannot_tell_apart_is_decided_in_float64() -> None:
    """A difference of 2**-30, which is lost in a float32 product, decides first place both ways."""
    asked = np.array([[1.0, 2.0**-30]], np.float32)
    candidates = np.array([[1, 1], [1, 2], [1, 0]], np.float32)
    assert len(set((asked @ candidates.T)[0].tolist())) == 1
    assert [search(asked, candidates, [[row]]).ranks[0] for row in range(3)] == [2, 1, 3]
    assert search(asked, candidates, [[0]]).rows.tolist() == [[1, 0, 2]]


def test_a_model_that_gives_everything_one_vector_gains_nothing() -> None:
    """All candidates tie: the relevant one is last, over many blocks."""
    candidates = np.tile(np.array([[0.6, 0.8]], np.float32), (9000, 1))
    found = search(candidates[:2], candidates, [[5], [8999, 3]])
    assert found.ranks.tolist() == [9000, 8999]
    assert set(found.scores[0].tolist()) == {float((candidates[0].astype(np.float64) ** 2).sum())}


def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks, candidates and scores are the same to the last bit."""
    asked, candidates, relevant = made(500, 40)
    usual = search(asked, candidates, relevant)
    for name, value in {"_QUERIES": 7, "_CANDIDATES": 31, "_AGAIN": 5}.items():
        monkeypatch.setattr(module, name, value)
    for ours, theirs in zip(search(asked, candidates, relevant), usual, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_order_of_queries_and_candidates_changes_no_rank() -> None:
    """Both shuffled."""
    asked, candidates, relevant = made(700, 30)
    generator = np.random.default_rng(1)
    one, other = generator.permutation(len(asked)), generator.permutation(len(candidates))
    place = np.argsort(other)
    shuffled = search(asked[one], candidates[other], [[int(place[row]) for row in relevant[query]] for query in one])
    assert shuffled.ranks.tolist() == search(asked, candidates, relevant).ranks[one].tolist()


def test_a_file_of_vectors_is_searched_where_it_lies(tmp_path: Path) -> None:
    """Memory-mapped, as the store keeps them."""
    asked, candidates, relevant = made(300, 10)
    np.save(tmp_path / "x.npy", candidates)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert search(asked, mapped, relevant).ranks.tolist() == search(asked, candidates, relevant).ranks.tolist()


def test_no_queries_have_no_ranks() -> None:
    """As of a run without one transcript."""
    found = search(np.zeros((0, 3), np.float32), np.ones((5, 3), np.float32), [])
    assert found.ranks.shape == (0,)
    assert found.rows.shape == (0, 5)


@pytest.mark.parametrize(
    ("asked", "candidates", "relevant", "match"),
    [
        (np.ones((1, 2)), np.ones((3, 4)), [[0]], "as many numbers"),
        (np.ones((1, 2)), np.ones((0, 2)), [[]], "at least one candidate"),
        (np.ones(2), np.ones((3, 2)), [[0]], "as many numbers"),
        (np.ones((1, 2)), np.ones((3, 2)), [], "of 1 queries, got 0"),
        (np.ones((1, 2)), np.ones((3, 2)), [[3]], "positions below 3, got 3"),
        (np.full((1, 2), np.nan), np.ones((3, 2)), [[0]], "queries of finite numbers"),
        (np.ones((1, 2)), np.array([[1, 1], [1, np.nan], [1, 1]]), [[0]], "in candidates 0 to 2"),
        (np.ones((1, 2)), np.array([[1, 1], [1, np.inf], [1, 1]]), [[0]], "in candidates 0 to 2"),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(
    asked: np.ndarray, candidates: np.ndarray, relevant: list[list[int]], match: str
) -> None:
    """Shapes, positions, numbers."""
    with pytest.raises(ApplicationError, match=match):
        search(asked.astype(np.float32), candidates.astype(np.float32), relevant)


class TestAmong:
    """What an index has found stands for all candidates."""

    def test_all_candidates_in_any_order_are_the_exact_search(self) -> None:
        """Ranks, rows and scores to the last bit; ties, which float32 would make, count against the relevant."""
        asked, candidates, relevant = made(60, 30)
        candidates[7], relevant[3] = candidates[5], [5]
        rows = np.random.default_rng(0).permuted(np.tile(np.arange(60), (30, 1)), axis=1)
        exact = search(asked, candidates, relevant)
        found = among(asked, candidates, relevant, rows)
        for ours, theirs in zip(found, exact, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert recall(found, exact) == 1

    def test_what_was_not_found_is_behind_all_hits_and_beats_nothing(self) -> None:
        """Relevant: missed; found second of two; found where better ones were missed; none; and no hits at all."""
        candidates = np.array([[4.0], [3], [2], [1]], np.float32)
        rows = np.array([[1, 2, -1], [2, 0, -1], [3, -1, -1], [0, 1, 2], [-1, -1, -1]])
        found = among(np.ones((5, 1), np.float32), candidates, [[0], [2], [3], [], [0]], rows, kept=2)
        assert found.ranks.tolist() == [4, 2, 1, 0, 4]
        assert found.rows.tolist() == [[1, 2], [0, 2], [3, -1], [0, 1], [-1, -1]]
        assert found.scores[2].tolist() == [1, -np.inf]

    def test_recall_counts_scores(self) -> None:
        """Of the three best of each query three and one were found; one of equal score is as good as another."""
        candidates = np.array([[4.0], [3], [2], [2], [1]], np.float32)
        asked = np.ones((2, 1), np.float32)
        exact = search(asked, candidates, [[], []], kept=3)
        found = among(asked, candidates, [[], []], np.array([[0, 1, 3], [1, 4, -1]]), kept=3)
        assert recall(found, exact) == pytest.approx(4 / 6)

    def test_no_queries_have_no_ranks(self) -> None:
        """As of the exact search."""
        found = among(np.zeros((0, 3), np.float32), np.ones((5, 3), np.float32), [], np.zeros((0, 64), np.int64))
        assert found.ranks.shape == (0,)

    def test_what_does_not_fit_is_one_sentence(self) -> None:
        """As of the exact search."""
        with pytest.raises(ApplicationError, match="queries of finite numbers"):
            among(np.full((1, 2), np.nan, np.float32), np.ones((3, 2), np.float32), [[0]], np.array([[0]]))
