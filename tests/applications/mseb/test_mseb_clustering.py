"""Clusters and their agreement with labels: scikit-learn's scores, threads, chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score
from support.profile import examples
from threadpoolctl import threadpool_limits

from codec_superb.applications.mseb.clustering import adjusted, chance, cluster, nearest, v_measure


def test_known_answers() -> None:
    """Four clips, two labels, three clusters."""
    labels, clusters = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])
    (found,) = v_measure(labels, clusters)
    assert found == pytest.approx(0.8)
    assert adjusted(np.array([found]), chance(labels, clusters)) == pytest.approx([0.57143], abs=1e-5)


divisions = st.integers(1, 30).flatmap(
    lambda count: st.tuples(*[st.lists(st.integers(0, 6), min_size=count, max_size=count)] * 2)
)


@given(divisions)
@examples(60)
def test_agreement_is_that_of_scikit_learn(division: tuple[list[int], list[int]]) -> None:
    """V-measure and adjusted mutual information agree with two other implementations."""
    labels, clusters = (np.unique(numbers, return_inverse=True)[1] for numbers in division)
    found = v_measure(labels, clusters)
    assert found == pytest.approx([v_measure_score(labels, clusters)], abs=1e-9)
    expected = adjusted_mutual_info_score(labels, clusters)
    if abs(1 - chance(labels, clusters)) > 1e-9:  # beyond it scikit-learn divides rounding by rounding
        assert adjusted(found, chance(labels, clusters)) == pytest.approx([expected], abs=1e-6)


@given(divisions, st.data())
@examples(30)
def test_weights_repeat_clips(division: tuple[list[int], list[int]], data: st.DataObject) -> None:
    """A weight of two is a clip that is there twice."""
    labels, clusters = (np.array(numbers) for numbers in division)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=labels.size, max_size=labels.size)))
    (found,) = v_measure(labels, clusters, times[None].astype(float))
    if times.any():
        expected = v_measure_score(np.repeat(labels, times), np.repeat(clusters, times))
        assert found == pytest.approx(expected, abs=1e-9)
    else:
        assert np.isnan(found)


def test_chance_is_the_mean_over_random_clusters() -> None:
    """The expected value is that of clusters dealt out at random."""
    stream = np.random.default_rng(0)
    labels, clusters = np.repeat(np.arange(26), 2), stream.integers(0, 26, 52)
    drawn = np.stack([stream.permutation(clusters) for _ in range(400)])
    found = np.array([v_measure(labels, row)[0] for row in drawn])
    # of fixed sizes the entropies are the same in each draw, and the mean of V is that of the information
    assert chance(labels, clusters) == pytest.approx(found.mean(), abs=4 * found.std() / 20)
    assert chance(labels, clusters) > 0.6  # most of what V shows with two clips a label


def test_clusters_are_the_same_for_any_number_of_threads() -> None:
    """Neither clusters nor centroids depend on how many threads compute them."""
    stream = np.random.default_rng(3)
    centres = 4 * stream.normal(size=(6, 20))
    vectors = np.repeat(centres, 50, axis=0) + stream.normal(size=(300, 20))
    tables = []
    for threads in (1, 2, 4):
        with threadpool_limits(limits=threads):
            tables.append([cluster(vectors, 6, seed) for seed in range(3)])
    for other in tables[1:]:
        for one, two in zip(tables[0], other, strict=True):
            assert np.array_equal(one[0], two[0])
            assert np.array_equal(one[1], two[1])
    numbers, centroids = tables[0][0]
    assert len(set(numbers)) == 6
    assert v_measure(np.repeat(np.arange(6), 50), nearest(vectors, centroids))[0] > 0.7


def test_a_vector_belongs_to_the_nearest_centroid() -> None:
    """Of equally near ones the first counts."""
    centroids = np.array([[0.0, 0.0], [4.0, 0.0]])
    assert nearest(np.array([[1.0, 1.0], [3.0, -5.0], [2.0, 9.0]]), centroids).tolist() == [0, 1, 0]
