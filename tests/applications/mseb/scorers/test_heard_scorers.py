"""Transcription and segmentation: what is kept of what a recogniser heard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.applications.known_texts import collections_of, question

from codec_superb.applications.asr.word_times import Word, read, written
from codec_superb.applications.interface import Item, ScoringInput
from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.mseb.figures import detection_precision
from codec_superb.applications.mseb.scorers import segmentation, transcription
from codec_superb.applications.table import PROBES
from codec_superb.data_manifests.collections import CollectionRow


def test_transcripts_are_counted_and_silence_is_an_answer() -> None:
    """An empty transcript deletes all words; a clip without a label takes no part, a failed one is not scored."""
    items = [Item(clip, "speech", text, "en") for clip, text in (("a", "This is a test."), ("b", None), ("c", "x"))]
    heard = {"a": "This is a test.", "b": "x", "c": "x"}
    asked = question(items, heard, heard | {"a": ""}, failures={"c": "gone"})
    outcomes = transcription.score(PROBES["mseb_transcription"], asked).outcomes
    assert outcomes["a"].shared == {"words": 4, "characters": 11}
    assert outcomes["a"].reference == {"word_errors": 0, "character_errors": 0, "no_answer": 0}
    assert outcomes["a"].resynthesis == {"word_errors": 4, "character_errors": 11, "no_answer": 1}
    assert [(of.status, of.reason) for clip, of in outcomes.items() if clip != "a"] == [
        ("left_out", "the clip has no label text"), ("failed", "gone"),
    ]  # fmt: skip


IDF = {"okapi": 9.0, "zebra": 5.0, "horse": 4.0, "the": 0.1}


class TestSegmentation:
    """Salient terms."""

    TRUTH = (Word("okapi", 1.0, 1.5, 1.0), Word("zebra", 2.0, 2.5, 1.0))

    def ask(self, folder: Path, reference: str, resynthesis: str, offered: Sequence[Word] = ()) -> ScoringInput:
        """Ask about one clip."""
        rows = {
            "terms": [
                CollectionRow(str(n), list="q", text=w.text, start=w.start, end=w.end) for n, w in enumerate(self.TRUTH)
            ],
            "idf": [CollectionRow(word, weight=weight) for word, weight in IDF.items()],
        }
        labels = {"terms": "q"}
        if offered:
            rows["term_candidates"] = [
                CollectionRow(str(n), list="o", text=w.text, start=w.start, end=w.end) for n, w in enumerate(offered)
            ]
            labels["term_candidates"] = "o"
        items = [Item("a", "speech", language="en", extra=tuple(sorted(labels.items())))]
        return question(items, {"a": reference}, {"a": resynthesis}, collections_of(folder, rows))

    def test_the_rarest_words_are_compared_with_the_terms(self, tmp_path: Path) -> None:
        """In order and in time on the reference; late by 0.15 s, and without the first, on the resynthesis."""
        heard = [Word("The", 0.0, 1.0, 1.0), Word("okapi,", 1.02, 1.52, 0.5), Word("zebra", 2.0, 2.5, 1.0)]
        late = [Word("the", 0.0, 1.0, 1.0), Word("horse", 1.0, 1.5, 1.0), Word("zebra", 2.15, 2.65, 1.0)]
        asked = self.ask(tmp_path, written(heard), written(late))
        scored = segmentation.score(PROBES["mseb_segmentation"], asked)
        outcome = scored.outcomes["a"]
        assert outcome.shared == {"terms": 2, "words": 2}
        of = outcome.reference
        assert (of["gain"], of["both_50"], of["word_errors"]) == (1.0, 2, 1)  # `the` is the third of three
        assert [of[f"confidence_{n}"] for n in (1, 2, 3)] == [4.5, 5.0, pytest.approx(0.1)]
        assert [of[f"right_{n}"] for n in (1, 2, 3)] == [1, 1, 0]
        of = outcome.resynthesis
        assert (of["gain"], of["both_100"], of["both_200"], of["times_100"], of["term_100"]) == (0.0, 0, 1, 1, 1)
        assert scored.settings["rarity"] == "collection idf"

    def test_of_terms_that_are_offered_the_heard_ones_are_chosen(self, tmp_path: Path) -> None:
        """With the times of the offer, so that late times cost nothing."""
        heard = written([Word("okapi", 1.4, 1.9, 1.0), Word("horse", 3.0, 3.5, 1.0)])
        offered = [*self.TRUTH, Word("cow", 0.0, 0.1, 1.0)]
        asked = self.ask(tmp_path, heard, heard, offered)
        kept = segmentation.score(PROBES["mseb_segmentation_selection"], asked).outcomes["a"].reference
        assert (kept["both_50"], kept["gain"], kept["confidence_2"]) == (1, pytest.approx(0.61315, abs=5e-6), -1)

    def test_silence_is_an_answer_and_other_texts_are_failures(self, tmp_path: Path) -> None:
        """No words hit nothing and are counted; what is no list of words with times has failed."""
        asked = self.ask(tmp_path, "[]", "")
        kept = segmentation.score(PROBES["mseb_segmentation"], asked).outcomes["a"]
        assert (kept.status, kept.reference["no_answer"], kept.resynthesis["no_answer"]) == ("ok", 1, 1)
        assert (kept.reference["gain"], kept.reference["word_errors"]) == (0, 2)
        bad = segmentation.score(PROBES["mseb_segmentation"], self.ask(tmp_path, "[]", "the words")).outcomes["a"]
        assert (bad.status, bad.reason.startswith("words with times: ")) == ("failed", True)


def test_precision_of_detections_is_the_known_answer() -> None:
    """Right, wrong, right by confidence: 5/6; scikit-learn's rule of ties; a draw without the wrong clip has 1."""
    values = {"confidence_1": np.array([3.0, 2.0, 1.0]), "right_1": np.array([1.0, 0.0, 1.0])}
    values |= {"confidence_2": -np.ones(3), "right_2": np.zeros(3)}
    found = detection_precision(Evidence(values), np.array([[1.0, 1, 1], [1, 0, 1], [0, 1, 0]]))
    assert found == pytest.approx([5 / 6, 1.0, 0.0])
    tied = {"confidence_1": np.ones(2), "right_1": np.array([1.0, 0.0])}
    assert detection_precision(Evidence(tied), np.ones((1, 2)))[0] == 0.5
    nothing = {"confidence_1": -np.ones(2), "right_1": np.zeros(2)}
    assert detection_precision(Evidence(nothing), np.ones((1, 2)))[0] == 0.0


def test_words_are_read_as_they_were_written() -> None:
    """To the millisecond; an empty text has no words."""
    words = [Word('Ökapi "x"', 0.1234, 1.0, 0.5), Word("b", 1.0, 1.0, 1.0)]
    assert read(written(words)) == [words[0]._replace(start=0.123), words[1]]
    assert read(" ") == read("[]") == []


@pytest.mark.parametrize(
    "text",
    [
        "words", "{}", "[[]]", '[["a", 0, 1]]', '[["a", 0, 1, 1, 1]]', "[[1, 0, 1, 1]]", '[["a", "0", 1, 1]]',
        '[["a", 1, 0, 1]]', '[["a", 0, 1, 2]]', '[["a", 0, NaN, 1]]', '[["a", 0, Infinity, 1]]', '[["a", 0, 1e999, 1]]',
        '[["a", true, 1, 1]]', "[" * 100_000,
    ],
)  # fmt: skip
def test_other_texts_are_no_words(text: str) -> None:
    """Each is a ValueError, never a crash of another kind."""
    with pytest.raises(ValueError):  # noqa: PT011 -- the words are those of json for some
        read(text)
