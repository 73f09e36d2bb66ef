"""Information and purity against scikit-learn, and labels of frames against what was put in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.token_contents.information import (
    contingency,
    frame_sums,
    mutual_information,
    normalised_mutual_information,
    phone_normalised,
    shifted,
)
from codec_superb.applications.token_contents.labels import NONE, Segment, of_pitch, of_segments


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
@examples(200)
def test_figures_are_those_of_scikit_learn(frames: int, entries: int, kinds: int, seed: int) -> None:
    """Mutual information, its normalised form and the contingency table of any labels are scikit-learn's, purity too.

    Purity is computed from scikit-learn's contingency matrix: the largest count of each token over all frames.
    """
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, entries, frames)
    labels = (tokens + rng.integers(0, kinds, frames)) % kinds
    assert mutual_information(tokens, labels) == pytest.approx(
        metrics.mutual_info_score(labels, tokens) / np.log(2), abs=1e-9
    )
    known = metrics.normalized_mutual_info_score(labels, tokens)
    assert normalised_mutual_information(tokens, labels) == pytest.approx(known, abs=1e-9)
    table = metrics.cluster.contingency_matrix(tokens, labels)
    sums = frame_sums(tokens, labels)
    assert sums.pure.mean() == pytest.approx(table.max(axis=1).sum() / frames)
    assert sums.clustered.mean() == pytest.approx(table.max(axis=0).sum() / frames)
    assert contingency(tokens, labels).sum() == frames


def test_known_answers() -> None:
    """Tokens that are the phones tell all of them, tokens that ignore them nothing, and finer ones are as pure."""
    phones = np.repeat(np.arange(4), 50)
    finer = phones * 2 + np.tile([0, 1], 100)
    assert phone_normalised(phones, phones) == pytest.approx(1.0)
    assert phone_normalised(finer, phones) == pytest.approx(1.0)
    assert normalised_mutual_information(finer, phones) == pytest.approx(2 * 2 / (2 + 3))
    assert frame_sums(finer, phones).pure.mean() == 1.0
    assert frame_sums(finer, phones).clustered.mean() == 0.5
    assert phone_normalised(np.tile([0, 1], 100), phones) == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(phone_normalised(phones, np.zeros(200, np.int64)))
    nothing = np.zeros(0, np.int64)
    assert mutual_information(nothing, nothing) == 0.0


def test_chance_is_seen_beside_a_figure_of_little_sound() -> None:
    """Of 200 frames by 200 entries all seems told; labels in a wrong place seem so as well, and not with 20,000."""
    rng = np.random.default_rng(0)
    for frames, least, most in ((200, 0.5, 1.0), (20_000, 0.0, 0.12)):
        tokens, labels = rng.integers(0, 200, frames), np.repeat(rng.integers(0, 10, frames // 10), 10)
        control = phone_normalised(tokens, shifted(labels, 0, 1))
        assert least <= control <= most
        assert phone_normalised(tokens, labels) == pytest.approx(control, abs=0.1)
    assert sorted(shifted(labels, 3, 2)) == sorted(labels)


def test_labels_stand_at_the_middles_of_frames() -> None:
    """Two phones with a gap at 50 frames a second, and a pitch that is unvoiced for half of the sound."""
    segments = [Segment("AH", 0.0, 0.05), Segment("T", 0.07, 0.2)]
    assert of_segments(segments, 6, 50) == ["AH", "AH", NONE, "T", "T", "T"]
    assert of_segments([], 2, 50) == [NONE, NONE]
    hertz = np.array([0.0] * 4 + [55.0] * 4 + [110.0] * 8)
    assert of_pitch(hertz, 0.005, 5, 50) == [NONE, "0", "6", "6", "6"]
    assert of_pitch(np.zeros(0), 0.005, 2, 50) == [NONE, NONE]
