"""From embeddings to trials and similarities: protocols, failures, settings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.applications.asv import ASV, SIM, question

from codec_superb.applications import catalogue
from codec_superb.applications.asv.scoring import score, score_similarity
from codec_superb.applications.asv.trials import build_trials, sha256_of_trials
from codec_superb.applications.errors import MissingLabels
from codec_superb.applications.interface import ClipOutcome

SPEAKERS: dict[str, str | None] = {"a1": "anna", "a2": "anna", "b1": "bob", "b2": "bob", "c1": "carol", "x": None}
AXES = {"a1": [1.0, 0.0], "a2": [3.0, 4.0], "b1": [0.0, -2.0]}


def _vectors(values: dict[str, list[float]]) -> dict[str, np.ndarray]:
    return {clip: np.array(value, np.float32) for clip, value in values.items()}


class TestVerification:
    """Probe asv."""

    def test_cosines_by_hand(self) -> None:
        """References (1,0), (3,4): 0.6; resyntheses turned by a right angle the same; mixed: -0.8 or 0.8."""
        turned = {clip: [-y, x] for clip, (x, y) in AXES.items()}
        asked = question(
            {"a1": None, "a2": None, "b1": None},
            reference=_vectors(AXES),
            resynthesis=_vectors(turned),
            trials=[(True, "a1", "a2"), (False, "b1", "a1"), (True, "a2", "a1")],
        )
        pairs = score(ASV, asked).pairs
        assert [(pair.left, pair.right, pair.target) for pair in pairs] == [
            ("a1", "a2", True), ("b1", "a1", False), ("a2", "a1", True),
        ]  # fmt: skip
        np.testing.assert_allclose([pair.reference for pair in pairs], [0.6, 0.0, 0.6], atol=1e-7)
        np.testing.assert_allclose([pair.resynthesis for pair in pairs], [0.6, 0.0, 0.6], atol=1e-7)
        np.testing.assert_allclose([pair.enrol_clean for pair in pairs], [-0.8, -1.0, 0.8], atol=1e-7)

    def test_built_trials_and_their_settings(self) -> None:
        """Without a published list all trials of the labels are scored; the settings say how they were built."""
        asked = question(SPEAKERS)
        scored = score(ASV, asked)
        trials = build_trials(asked.items)
        assert [(pair.target, pair.left, pair.right) for pair in scored.pairs] == [tuple(trial) for trial in trials]
        assert scored.settings == {
            "trials": "built", "trials_seed": 0, "trials_sha256": sha256_of_trials(trials), "trials_listed": 4,
            "trials_same_speaker": 2, "trials_different_speakers": 2, "trial_score": "cosine",
            "dcf_target_prior": 0.01, "dcf_miss_cost": 1.0, "dcf_false_alarm_cost": 1.0,
        }  # fmt: skip

    def test_every_clip_has_an_outcome(self) -> None:
        """A clip without a speaker is left out; the others count their trials."""
        scored = score(ASV, question(SPEAKERS))
        assert set(scored.outcomes) == set(SPEAKERS)
        assert scored.outcomes["x"] == ClipOutcome("left_out", "no speaker is known")
        counts = {clip: sum(clip in pair[:2] for pair in scored.pairs) for clip in SPEAKERS}
        for clip, outcome in scored.outcomes.items():
            if outcome.status == "ok":
                assert outcome.shared == {"trials": counts[clip]}
            else:
                assert counts[clip] == 0

    def test_published_trials_of_absent_clips_are_not_scored(self) -> None:
        """A run over some clips scores the trials among them; the hash is that of the whole list."""
        trials = [(True, "a1", "a2"), (False, "a1", "b1"), (False, "a1", "elsewhere")]
        asked = question(SPEAKERS, trials=trials, trial_list="veri_test2")
        scored = score(ASV, asked)
        assert len(scored.pairs) == 2
        assert scored.settings["trials"] == "veri_test2"
        assert scored.settings["trials_listed"] == 3
        assert scored.settings["trials_different_speakers"] == 1
        assert scored.settings["trials_sha256"] == sha256_of_trials(trials)
        assert "trials_seed" not in scored.settings
        assert scored.outcomes["c1"] == ClipOutcome("left_out", "no trial has this clip")
        assert scored.outcomes["x"] == ClipOutcome("left_out", "no speaker is known")

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (None, "no embedding of the resynthesis"),
            (np.zeros(8, np.float32), "no direction"),
            (np.full(8, np.nan, np.float32), "no direction"),
            ("a transcript", "got str"),
        ],
    )
    def test_a_failed_clip_takes_its_trials_along(self, value: object, reason: str) -> None:
        """A clip without an embedding is failed with the reason, and no trial of it is scored."""
        asked = question(SPEAKERS)
        broken = {clip: vector for clip, vector in asked.resynthesis.items() if clip != "a1"}
        if value is not None:
            broken["a1"] = value  # type: ignore[assignment]
        scored = score(ASV, question(SPEAKERS, resynthesis=broken))
        assert scored.outcomes["a1"].status == "failed"
        assert reason in scored.outcomes["a1"].reason
        assert scored.outcomes["a1"].shared == {}
        assert scored.pairs
        assert not any("a1" in pair[:2] for pair in scored.pairs)
        assert scored.outcomes["a2"].status == "ok"

    def test_a_reason_given_is_kept(self) -> None:
        """What the pipeline says of a failed clip is what its outcome says; the list itself stays the same."""
        failed = score(ASV, question(SPEAKERS, failures={"b1": "the codec crashed"}))
        assert failed.outcomes["b1"] == ClipOutcome("failed", "the codec crashed")
        assert failed.settings == score(ASV, question(SPEAKERS)).settings

    def test_all_clips_may_fail(self) -> None:
        """No pair is left then, and nothing breaks."""
        scored = score(ASV, question(SPEAKERS, resynthesis={}, failures=dict.fromkeys(SPEAKERS, "no audio")))
        assert scored.pairs == ()
        assert {outcome.status for outcome in scored.outcomes.values()} == {"failed", "left_out"}

    @pytest.mark.parametrize("speakers", [{"a": "anna", "b": "anna"}, {"a": "anna", "b": "bob"}, {"a": None}, {}])
    def test_too_few_speakers_are_an_error(self, speakers: dict[str, str | None]) -> None:
        """Where no trial of either kind exists the dataset is named, as before a model is loaded."""
        with pytest.raises(MissingLabels, match=r"^set: speaker verification needs"):
            score(ASV, question(speakers))

    @given(st.floats(1e-30, 1e30), st.integers(0, 5))
    def test_length_of_an_embedding_does_not_count(self, factor: float, seed: int) -> None:
        """Embeddings scaled by any factor give the same scores, within [-1, 1]."""
        asked = question(SPEAKERS, seed=seed)
        scaled = {clip: np.float32(factor) * vector for clip, vector in asked.resynthesis.items()}
        one, other = score(ASV, asked), score(ASV, question(SPEAKERS, seed=seed, resynthesis=scaled))
        np.testing.assert_allclose(
            [pair.resynthesis for pair in one.pairs], [pair.resynthesis for pair in other.pairs], atol=1e-6
        )
        assert all(-1 <= pair.resynthesis <= 1 for pair in other.pairs)

    def test_the_catalogue_finds_it(self) -> None:
        """Scoring by the key of the probe is this scoring."""
        asked = question(SPEAKERS)
        assert catalogue.score("asv", asked) == score(ASV, asked)
        assert catalogue.score("sim", asked) == score_similarity(SIM, asked)


class TestSimilarity:
    """Probe sim."""

    def test_cosines_by_hand(self) -> None:
        """(3,4) against (4,3) is 0.96, an opposite is -1; the reference side is 1."""
        asked = question(
            {"a": None, "b": None, "c": "anna"},
            reference=_vectors({"a": [3, 4], "b": [1, 2], "c": [0, 1]}),
            resynthesis=_vectors({"a": [4, 3], "b": [-2, -4], "c": [0, 5]}),
        )
        scored = score_similarity(SIM, asked)
        values = [scored.outcomes[clip].resynthesis["similarity"] for clip in "abc"]
        np.testing.assert_allclose(values, [0.96, -1.0, 1.0], atol=1e-7)
        assert all(outcome.reference == {"similarity": 1.0} for outcome in scored.outcomes.values())
        assert all(-1 <= value <= 1 for value in values)
        assert scored.pairs == ()

    def test_speakers_need_no_label(self) -> None:
        """Clips without a label take part; a failed one is failed with its reason."""
        scored = score_similarity(SIM, question({"a": None, "b": None}, failures={"a": "too short"}))
        assert scored.outcomes["a"] == ClipOutcome("failed", "too short")
        assert scored.outcomes["b"].status == "ok"

    def test_no_clip_is_no_trouble(self) -> None:
        """An empty question has an empty answer."""
        assert score_similarity(SIM, question({})).outcomes == {}
