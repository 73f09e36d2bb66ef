"""Scorers of sets: what is kept of each clip, failures, samples of frames, and figures that follow from it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from sklearn.metrics import v_measure_score

from codec_superb.applications.catalogue import score
from codec_superb.applications.interface import Item, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.mseb import cluster_figures, stability
from codec_superb.applications.mseb.clustering import SEEDS
from codec_superb.applications.mseb.frame_sample import MOST_FRAMES, chosen_clips, positions
from codec_superb.applications.table import PROBES

YAMNET, VECTORS, CODES = "mseb_reconstruction_yamnet", "mseb_stability_vectors", "mseb_stability_codes"
SPEAKERS = "mseb_clustering_speaker"


def _asked(
    reference: Mapping[str, Prediction],
    resynthesis: Mapping[str, Prediction],
    failures: Mapping[str, str] | None = None,
    speakers: Mapping[str, str] | None = None,
) -> ScoringInput:
    clips = sorted({*reference, *resynthesis, *(failures or {})})
    items = [Item(clip, "speech", speaker=(speakers or {}).get(clip)) for clip in clips]
    return ScoringInput("data", items, reference, resynthesis, failures or {})


def _frames(*rows: list[float]) -> np.ndarray:
    return np.array(rows, np.float32)


def _evidence(key: str, scores: ProbeScores, side: str) -> Evidence:
    taking = [of for _, of in sorted(scores.outcomes.items()) if of.status == "ok"]
    probe = PROBES[key]
    values = {f.name: np.array([of.shared[f.name] for of in taking]) for f in probe.shared}
    values |= {f.name: np.array([getattr(of, side)[f.name] for of in taking]) for f in probe.sided}
    return Evidence(values)


class TestReconstruction:
    """Frames of both sides."""

    def test_a_clip_keeps_its_frames_and_its_mean_squared_difference(self) -> None:
        """Differences of .1 and of 5: .01 and 25; the reference side has none."""
        reference = {"a": np.zeros((3, 2), np.float32), "b": np.zeros((2, 2), np.float32)}
        resynthesis = {"a": reference["a"] + np.float32(0.1), "b": reference["b"] + 5}
        found = score(YAMNET, _asked(reference, resynthesis))
        differences = [found.outcomes[clip].resynthesis["squared_difference"] for clip in "ab"]
        assert np.mean(differences) == pytest.approx(12.505)
        assert [found.outcomes[clip].reference for clip in "ab"] == [{"squared_difference": 0.0}] * 2
        assert [found.outcomes[clip].shared for clip in "ab"] == [{"frames": 3.0}, {"frames": 2.0}]
        assert [(of.clip, of.frames) for of in found.frames] == [("a", 3), ("b", 2)]
        assert np.array_equal(found.frames[1].resynthesis, resynthesis["b"])
        assert found.settings == {"frames_per_clip": 2048, "frames_most": 4096, "frames_seed": 0}

    def test_what_has_no_pair_of_frames_fails(self) -> None:
        """Each with its reason; nothing of them is kept."""
        frames = np.ones((3, 2), np.float32)
        reference = {"shape": frames, "text": "words", "vector": frames[0], "large": frames, "gone": frames}
        resynthesis = {"shape": frames[:2], "text": frames, "vector": frames, "large": frames * 2.0**39}
        found = score(YAMNET, _asked(reference, resynthesis, {"silent": "no resynthesis"}))
        reasons = {clip: of.reason for clip, of in found.outcomes.items()}
        assert {of.status for of in found.outcomes.values()} == {"failed"}
        assert reasons["silent"] == "no resynthesis"
        assert "shape of the reference, (3, 2), got (2, 2)" in reasons["shape"]
        assert "got a text" in reasons["text"]
        assert "got the shape (2,)" in reasons["vector"]
        assert "resynthesis: expected numbers below" in reasons["large"]
        assert "got none" in reasons["gone"]
        assert found.frames == ()

    def test_long_clips_keep_the_same_moments_whatever_fails(self) -> None:
        """As many frames of each clip as fit into the whole, at positions that the clip's id alone decides."""
        stream = np.random.default_rng(0)
        reference = {f"c{n}": stream.normal(size=(3000, 2)).astype(np.float32) for n in range(4)}
        whole = score(YAMNET, _asked(reference, reference))
        fewer = score(
            YAMNET, _asked({**reference, "c1": "text"}, {clip: -frames for clip, frames in reference.items()})
        )
        assert whole.settings["frames_per_clip"] == 1024
        assert sum(len(of.reference) for of in whole.frames) == MOST_FRAMES
        by_clip = {of.clip: of for of in whole.frames}
        assert [of.clip for of in fewer.frames] == ["c0", "c2", "c3"]
        for of in fewer.frames:
            assert np.array_equal(of.reference, by_clip[of.clip].reference)
            assert np.array_equal(of.resynthesis, -of.reference)
            assert np.array_equal(of.reference, reference[of.clip][positions(of.clip, 3000, 1024)])

    def test_more_clips_than_frames_are_chosen_by_their_ids(self) -> None:
        """The others take part with no frame, and with their difference."""
        frame = {f"c{n:04}": _frames([float(n), 0.0]) for n in range(MOST_FRAMES + 7)}
        found = score(YAMNET, _asked(frame, frame))
        kept = {of.clip for of in found.frames}
        assert kept == chosen_clips(frame, MOST_FRAMES)
        assert sum(of.shared["frames"] for of in found.outcomes.values()) == MOST_FRAMES
        assert {of.status for of in found.outcomes.values()} == {"ok"}
        some = list(frame)[::2]
        assert chosen_clips(some, 50) <= chosen_clips(frame, 200)

    def test_positions_are_drawn_once_and_rise(self) -> None:
        """They do not change from run to run, and differ from clip to clip."""
        assert positions("a", 5, 9).tolist() == [0, 1, 2, 3, 4]
        one, two = positions("a", 1000, 50), positions("b", 1000, 50)
        assert np.all(np.diff(one) > 0)
        assert len(one) == 50
        assert not np.array_equal(one, two)
        assert positions("mini/clip", 100, 5).tolist() == PINNED


PINNED = [29, 59, 60, 67, 85]


class TestClustering:
    """Clusters of vectors."""

    def test_voices_that_lie_apart_are_found_and_those_that_fall_together_are_not(self) -> None:
        """V is that of scikit-learn, of every seed; the second figure judges by the originals' centroids."""
        stream = np.random.default_rng(1)
        speakers = {f"c{n:02}": "abc"[n % 3] for n in range(36)}
        reference = {
            clip: (10 * np.eye(3)["abc".index(who)] + stream.normal(size=3)).astype(np.float32)
            for clip, who in speakers.items()
        }
        resynthesis = {clip: stream.normal(size=3).astype(np.float32) for clip in speakers}
        found = score(SPEAKERS, _asked(reference, resynthesis, speakers=speakers))
        ones = np.ones((1, 36))
        labels = list(speakers.values())
        for side, low, high in (("reference", 0.99, 1.0), ("resynthesis", 0.0, 0.4)):
            evidence = _evidence(SPEAKERS, found, side)
            each = [v_measure_score(labels, evidence.values[f"cluster_{seed}"]) for seed in SEEDS]
            assert cluster_figures.v(evidence, ones) == pytest.approx([np.mean(each)])
            assert low <= np.mean(each) <= high
        assert cluster_figures.ami(_evidence(SPEAKERS, found, "reference"), ones) == pytest.approx([1.0])
        assert cluster_figures.v_reference(_evidence(SPEAKERS, found, "resynthesis"), ones)[0] < 0.4
        chance = cluster_figures.v_chance(_evidence(SPEAKERS, found, "resynthesis"), ones)
        assert 0 < chance[0] < 0.2
        assert found.settings["clusters"] == 3

    def test_the_order_of_clips_changes_nothing(self) -> None:
        """Clips come sorted by id; the same vectors give the same clusters."""
        stream = np.random.default_rng(2)
        vectors = {f"c{n:02}": stream.normal(size=4).astype(np.float32) for n in range(20)}
        speakers = {clip: clip[-1] for clip in vectors}
        one = score(SPEAKERS, _asked(vectors, vectors, speakers=speakers))
        two = score(SPEAKERS, _asked(dict(reversed(vectors.items())), vectors, speakers=speakers))
        assert one == two
        for of in one.outcomes.values():
            assert of.reference == of.resynthesis  # a codec that changes nothing

    def test_a_single_label_and_clips_without_one_are_left_out(self) -> None:
        """There is nothing to tell apart, and nothing fails."""
        vector = np.ones(3, np.float32)
        vectors = {"a": vector, "b": vector, "c": vector}
        found = score(SPEAKERS, _asked(vectors, vectors, speakers={"a": "x", "b": "x"}))
        assert {of.status for of in found.outcomes.values()} == {"left_out"}
        assert "two labels or more, got 1" in found.outcomes["a"].reason

    def test_vectors_that_are_all_alike_have_one_cluster(self) -> None:
        """A codec that gives silence: its figure is 0, not an error."""
        stream = np.random.default_rng(3)
        speakers = {f"c{n}": "ab"[n % 2] for n in range(8)}
        reference = {clip: stream.normal(size=3).astype(np.float32) for clip in speakers}
        silence = dict.fromkeys(speakers, np.zeros(3, np.float32))
        found = score(SPEAKERS, _asked(reference, silence, speakers=speakers))
        assert cluster_figures.v(_evidence(SPEAKERS, found, "resynthesis"), np.ones((1, 8))) == pytest.approx([0.0])


class TestStability:
    """Edits of sequences."""

    def test_units_of_all_clips_are_counted_together(self) -> None:
        """Two edits of four units and none of two: a third; a unit is a frame's numbers together."""
        reference = {"a": _frames([1, 0], [2, 0], [3, 0], [4, 0]), "b": _frames([1, 1], [2, 2])}
        resynthesis = {"a": _frames([1, 0], [5, 0], [3, 0]), "b": reference["b"]}
        found = score(CODES, _asked(reference, resynthesis))
        assert {clip: of.resynthesis["edits"] for clip, of in found.outcomes.items()} == {"a": 2.0, "b": 0.0}
        assert stability.ued(_evidence(CODES, found, "resynthesis"), np.ones((1, 2))) == pytest.approx([1 / 3])
        assert stability.ued(_evidence(CODES, found, "reference"), np.ones((1, 2))).tolist() == [0.0]

    def test_opposite_vectors_cost_everything(self) -> None:
        """One of two clips turned around: a half, over the vectors of both."""
        reference = {"a": _frames([50, 0]), "b": _frames([0, 7])}
        resynthesis = {"a": _frames([-50, 0]), "b": _frames([0, 3])}
        found = score(VECTORS, _asked(reference, resynthesis))
        assert stability.ced(_evidence(VECTORS, found, "resynthesis"), np.ones((1, 2))) == pytest.approx([0.5])

    def test_other_sizes_and_failures_fail(self) -> None:
        """With their reasons; lengths may differ."""
        reference = {"size": _frames([1, 2]), "length": _frames([1, 2], [3, 4]), "vector": np.ones(3, np.float32)}
        resynthesis = {"size": _frames([1, 2, 3]), "length": _frames([1, 2]), "vector": np.ones(3, np.float32)}
        found = score(VECTORS, _asked(reference, resynthesis, {"gone": "no resynthesis"}))
        states = {clip: of.status for clip, of in found.outcomes.items()}
        assert states == {"gone": "failed", "length": "ok", "size": "failed", "vector": "failed"}
        assert "frames of mseb_stability_vectors of one size" in found.outcomes["size"].reason
