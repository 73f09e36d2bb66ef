"""Salient terms: which are chosen, and when they are found."""

from __future__ import annotations

import math

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.asr.word_times import Word
from codec_superb.applications.mseb.saliency import from_table, from_wordfreq, salient_terms
from codec_superb.applications.mseb.segments import Hits, hits, matched, ordered_gain, word_errors

A, B, C = (Word(name, at, at + 0.5, 1.0) for at, name in enumerate("abc"))
WORDS = st.lists(
    st.builds(Word, st.sampled_from(["a", "b", "B", "c d"]), st.sampled_from([0.0, 0.04, 1.0]),
              st.sampled_from([0.5, 0.59, 2.0]), st.floats(0, 1)), max_size=4,
)  # fmt: skip


def other(word: Word, **changes: float | str) -> Word:
    """Return the word with another text or time."""
    return word._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("right", "expected"),
    [("a", 0.46928), ("ab", 0.76536), ("c", 0.23464), ("abc", 1.0), ("", 0.0)],
)
def test_gain_of_terms_in_their_place(right: str, expected: float) -> None:
    """The known answers of three terms; a right term at another place counts nothing."""
    found = [word if word.text in right else other(word, text="x") for word in (A, B, C)]
    assert ordered_gain([A, B, C], found) == pytest.approx(expected, abs=5e-6)
    assert ordered_gain([A, B], [B, A]) == 0.0
    assert ordered_gain([], [A]) == 0.0


def test_hits_in_three_passes() -> None:
    """Both, then times alone, then the term alone; each prediction once; ends may be off by the tolerance, not more."""
    late = other(B, start=B.start + 0.05, end=B.end - 0.05)
    assert hits([A, B, C], [A, late, other(C, text="x")], 0.05) == Hits(2, 3, 2)
    assert hits([A, B, C], [other(A, start=0.06), B, other(C, text="x", end=9.0)], 0.05) == Hits(1, 1, 2)
    assert hits([A, other(A, start=0.01)], [A], 0.05) == Hits(1, 1, 1)
    assert hits([other(A, text="Á")], [other(A, text="á")], 0.0) == Hits(1, 1, 1)


def test_what_is_right_by_confidence() -> None:
    """The more confident of two that match one truth takes it; a truth that nobody named costs nothing."""
    sure = other(A, confidence=2.0)
    assert matched([A, B], [A, sure, C], 0.05) == [False, True, False]


@given(WORDS, WORDS, st.sampled_from([0.05, 0.1]))
def test_counts_are_within_bounds_and_grow_with_the_tolerance(
    truth: list[Word], found: list[Word], tolerance: float
) -> None:
    """Hits are at most the truths and the predictions; all truths predicted are all found, with no word wrong."""
    ours = hits(truth, found, tolerance)
    most = min(len(truth), len(found))
    assert 0 <= ours.both <= min(ours.times, ours.terms) <= most
    assert sum(matched(truth, found, tolerance)) <= most
    assert hits(truth, truth, tolerance) == Hits(len(truth), len(truth), len(truth))
    assert word_errors(truth, truth)[1] == 0
    assert 0.0 <= ordered_gain(truth, found) <= 1.0


@given(WORDS.filter(bool), WORDS)
def test_word_errors_are_those_of_jiwer(truth: list[Word], found: list[Word]) -> None:
    """Terms are joined with spaces, in lower case."""
    one, two = (" ".join(word.text.lower() for word in words) for words in (truth, found))
    theirs = jiwer.process_words(one, two)
    assert word_errors(truth, found) == (
        len(one.split()), theirs.substitutions + theirs.deletions + theirs.insertions,
    )  # fmt: skip


def test_the_rarest_words_come_first_with_their_times() -> None:
    """Punctuation and case go, words outside the table are none, a repeated one counts where it comes first."""
    words = [Word(text, at, at + 1.0, 0.5) for at, text in enumerate(["The", "okapi,", "saw", "an", "Okapi", "zebra."])]
    rarity = from_table({"Okapi": 9.0, "saw": 2.0, "the": 0.1, "zebra": 5.0, "an": 0.2})
    assert salient_terms(words, rarity, "en") == [
        Word("okapi", 1.0, 2.0, 4.5), Word("zebra", 5.0, 6.0, 2.5), Word("saw", 2.0, 3.0, 1.0),
    ]  # fmt: skip
    assert salient_terms(words, from_table({}), "en") == []


def test_japanese_terms_are_the_longest_of_the_table() -> None:
    """A term may begin inside a word and span two; its time is that of the words it touches."""
    words = [Word("東京都", 0.0, 1.0, 1.0), Word("庁は", 1.0, 2.0, 0.5)]
    found = salient_terms(words, from_table({"都庁": 8.0, "東京": 5.0, "東京都": 6.0, "は": 0.5}), "ja-JP")
    assert found == [Word("都庁", 0.0, 2.0, 6.0), Word("東京都", 0.0, 1.0, 6.0), Word("は", 1.0, 2.0, 0.25)]


def test_words_keep_their_marks_and_what_joins_them() -> None:
    """Vowel signs, apostrophes and hyphens belong to a word, quotation marks do not."""
    table = from_table({"किताब": 5.0, "don't": 4.0, "mother-in-law": 3.0})
    words = [Word(f"‘{text}’?", 0.0, 1.0, 1.0) for text in ("किताब", "don't", "mother-in-law")]
    assert [word.text for word in salient_terms(words, table, "hi")] == ["किताब", "don't", "mother-in-law"]


def test_frequencies_stand_in_for_a_table() -> None:
    """By wordfreq a rare word is rarer than a common one; a made-up word, and a language it lacks, have no rarity."""
    rarity = from_wordfreq("en-US")
    common, rare = rarity("the"), rarity("okapi")
    assert common is not None
    assert rare is not None
    assert rare > common > 0
    assert math.exp(-common) == pytest.approx(0.0537, rel=0.05)
    assert rarity("xqzzyvw") is None
    assert (from_wordfreq("ja")("東京") or 0.0) > (from_wordfreq("ja")("は") or 0.0) > 0.0
    assert from_wordfreq("tlh")("Qapla'") is None
