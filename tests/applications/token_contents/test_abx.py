"""ABX and sequence distances against counts by brute force."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.profile import examples

from codec_superb.applications.token_contents.abx import Mode, PhoneTokens, cut, drawn, errors
from codec_superb.applications.token_contents.labels import Segment
from codec_superb.applications.token_contents.sequence_distances import distance, pairwise


def _segments(count: int, seed: int, clear: bool = False) -> list[PhoneTokens]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        phone, speaker = rng.integers(0, 3), rng.integers(0, 3)
        shape = (2, int(rng.integers(1, 5)))
        tokens = np.full(shape, phone) if clear else rng.integers(0, 3, shape)
        found.append(PhoneTokens(f"c{number % 5}", f"s{speaker}", f"p{phone}", tokens))
    return found


def _by_brute_force(segments: list[PhoneTokens], mode: Mode) -> float:
    """Average over cells of the mean over all triples, one by one."""
    cells: dict[tuple[str, ...], list[float]] = {}
    for a, b, x in product(segments, repeat=3):
        speakers = (a.speaker == b.speaker) and ((x.speaker == a.speaker) == (mode == "within"))
        if not speakers or a.phone != x.phone or b.phone == a.phone or a is x:
            continue
        near, far = _warped(a.tokens, x.tokens), _warped(b.tokens, x.tokens)
        cells.setdefault((a.phone, b.phone, a.speaker, x.speaker), []).append((near > far) + 0.5 * (near == far))
    return float(np.mean([np.mean(of) for of in cells.values()]))


def _warped(one: NDArray[np.int64], two: NDArray[np.int64]) -> float:
    """Return the cheapest path's mean cost by looking at all paths."""

    @cache
    def best(i: int, j: int) -> tuple[float, int]:
        own = float((one[:, i] != two[:, j]).mean())
        if i == j == 0:
            return own, 1
        before = [best(*at) for at in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if min(at) >= 0]
        cost, steps = min(before)
        return cost + own, steps + 1

    cost, steps = best(one.shape[1] - 1, two.shape[1] - 1)
    return cost / steps


@pytest.mark.parametrize("mode", ["within", "across"])
def test_errors_are_those_of_a_count_by_brute_force(mode: Mode) -> None:
    """All triples one by one, of random tokens with many ties: the same rate, however it is divided among clips."""
    for seed in range(3):
        segments = _segments(24, seed)
        found = errors(segments, mode)
        cells = sum(of.cells for of in found.values())
        assert cells == pytest.approx(round(cells))
        assert sum(of.errors for of in found.values()) / cells == pytest.approx(_by_brute_force(segments, mode))
    clear = errors(_segments(40, 0, clear=True), mode)
    assert sum(of.errors for of in clear.values()) == 0
    assert errors(segments[:1], mode) == {}


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 7))
@examples(150)
def test_distances_are_those_of_all_paths_and_of_all_edits(seed: int, first: int, second: int) -> None:
    """Warping by looking at every path, edits by RapidFuzz; symmetric, and 0 for the same sequence."""
    fuzz = pytest.importorskip("rapidfuzz.distance.Levenshtein")
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, 3, (2, first)), rng.integers(0, 3, (2, second))
    assert distance(one, two, "dtw") == pytest.approx(_warped(one, two))
    words = [[tuple(frame) for frame in of.T.tolist()] for of in (one, two)]
    assert distance(one, two, "edit") == pytest.approx(fuzz.normalized_distance(*words))
    assert distance(one, two, "dtw") == distance(two, one, "dtw")
    assert distance(one, one, "dtw") == distance(one, one) == 0.0
    np.testing.assert_array_equal(pairwise([one, two], "edit")[0, 1], distance(one, two))


def test_distances_without_frames() -> None:
    """Nothing is as far from something as can be, and like nothing."""
    none, some = np.zeros((1, 0), np.int64), np.zeros((1, 3), np.int64)
    assert distance(none, some) == 1.0
    assert distance(none, none) == 0.0
    assert pairwise([]).shape == (0, 0)


def test_phones_are_cut_at_middles_of_frames_and_never_empty() -> None:
    """A phone shorter than a frame has the one around its middle; one beyond the tokens is left out."""
    tokens = np.arange(5)[None]
    segments = [Segment("A", 0.0, 0.04), Segment("B", 0.041, 0.045), Segment("C", 0.3, 0.4)]
    found = list(cut("c", "s", tokens, segments, 50))
    assert [(of.phone, of.tokens.tolist()) for of in found] == [("A", [[0, 1]]), ("B", [[2]])]
    many = [PhoneTokens("c", "s", "A", tokens)] * 9 + [PhoneTokens("c", "s", "B", tokens)]
    assert [of.phone for of in drawn(many, most=4)] == ["A"] * 4 + ["B"]
