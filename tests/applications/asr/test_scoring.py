"""Transcripts become counts of errors, clip by clip; nothing that went wrong becomes a number."""

from __future__ import annotations

import numpy as np
import pytest
from support.applications.asr import item

from codec_superb.applications.catalogue import score
from codec_superb.applications.interface import ClipOutcome, Item, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.metric_functions import Evidence, character_error_rate, word_error_rate


def _scored(
    items: list[Item], reference: dict[str, Prediction], resynthesis: dict[str, Prediction], **failures: str
) -> ProbeScores:
    return score("asr", ScoringInput("tiny", items, reference, resynthesis, failures))


def test_words_are_counted_on_both_sides() -> None:
    """A clip keeps the words of its label and the errors of the reference and of the resynthesis."""
    scored = _scored([item("a", "Ten of clubs!")], {"a": "10 of clubs."}, {"a": "ten of the cups"})
    assert scored.outcomes["a"] == ClipOutcome(
        "ok",
        shared={"words": 3, "characters": 0},
        reference={"substitutions": 0, "deletions": 0, "insertions": 0},
        resynthesis={"substitutions": 1, "deletions": 0, "insertions": 1},
    )
    assert scored.settings == {"normaliser_en": "Whisper English (whisper-normalizer 0.1.15)"}


def test_chinese_is_counted_in_characters() -> None:
    """A clip in Chinese keeps characters and no words; both normalisers are stated."""
    scored = _scored(
        [item("a", "今天天气", "zh-CN"), item("b", "yes", "en")],
        {"a": "今天 天气", "b": "yes"},
        {"a": "今天天", "b": ""},
    )
    assert scored.outcomes["a"].shared == {"words": 0, "characters": 4}
    assert scored.outcomes["a"].resynthesis == {"substitutions": 0, "deletions": 1, "insertions": 0}
    assert scored.outcomes["b"].resynthesis == {"substitutions": 0, "deletions": 1, "insertions": 0}
    assert list(scored.settings) == ["normaliser_en", "normaliser_zh"]


@pytest.mark.parametrize(("text", "reason"), [(None, "no transcript"), ("(coughs) ...", "empty after normalising")])
def test_a_clip_without_words_is_left_out(text: str | None, reason: str) -> None:
    """A clip without a label, or with one in which nothing is said, takes no part even where a model failed."""
    outcome = _scored([item("a", text)], {}, {}, a="decoder broke").outcomes["a"]
    assert outcome.status == "left_out"
    assert reason in outcome.reason
    assert not outcome.shared


def test_a_failure_is_no_error_rate() -> None:
    """A clip that a codec or a model gave up has failed with that reason, and keeps no number."""
    outcome = _scored([item("a", "yes")], {"a": "yes"}, {}, a="encode: broken pipe").outcomes["a"]
    assert outcome == ClipOutcome("failed", "encode: broken pipe")


@pytest.mark.parametrize(("prediction", "kind"), [({}, "nothing"), ({"a": np.zeros(3, np.float32)}, "ndarray")])
def test_what_is_no_transcript_has_failed(prediction: dict[str, Prediction], kind: str) -> None:
    """A missing answer, or the answer of another kind of model, is a failure that says what came."""
    outcome = _scored([item("a", "yes")], {"a": "yes"}, prediction).outcomes["a"]
    assert outcome.status == "failed"
    assert f"expected a transcript of the resynthesis, got {kind}" in outcome.reason


def test_an_empty_transcript_is_an_answer() -> None:
    """A model that hears nothing has deleted every word."""
    outcome = _scored([item("a", "yes we can")], {"a": "yes we can"}, {"a": ""}).outcomes["a"]
    assert outcome.resynthesis == {"substitutions": 0, "deletions": 3, "insertions": 0}


class TestFigures:
    """Both error rates, from the counts of three clips."""

    EVIDENCE = Evidence(
        {
            "words": np.array([3.0, 0.0, 7.0]),
            "characters": np.array([0.0, 8.0, 0.0]),
            "substitutions": np.array([1.0, 2.0, 0.0]),
            "deletions": np.array([0.0, 0.0, 1.0]),
            "insertions": np.array([0.0, 2.0, 1.0]),
        }
    )

    def test_errors_are_summed_over_the_corpus(self) -> None:
        """Three errors in ten words are 30 %, not the mean of 33 % and 29 %; characters stay apart."""
        once = np.ones((1, 3))
        assert word_error_rate(self.EVIDENCE, once) == pytest.approx([30.0])
        assert character_error_rate(self.EVIDENCE, once) == pytest.approx([50.0])

    def test_each_draw_has_its_own_rate(self) -> None:
        """A draw counts a clip as often as it holds it, and has no rate where it holds no word."""
        draws = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
        assert word_error_rate(self.EVIDENCE, draws) == pytest.approx([400 / 13, np.nan], nan_ok=True)
        assert character_error_rate(self.EVIDENCE, draws) == pytest.approx([np.nan, 50.0], nan_ok=True)

    def test_no_clip_has_no_rate(self) -> None:
        """Without clips there is nothing to divide by."""
        nothing = Evidence({name: np.zeros(0) for name in self.EVIDENCE.values})
        assert np.isnan(word_error_rate(nothing, np.ones((1, 0)))).all()
