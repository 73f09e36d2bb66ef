"""Errors of transcripts in words and characters, and how they spread over utterances."""

from __future__ import annotations

import math

import jiwer
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from whisper_normalizer.basic import BasicTextNormalizer

from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.mseb.figures import character_error_rate, error_share, word_error_rate
from codec_superb.applications.mseb.transcripts import errors_of, spread


def test_known_answers() -> None:
    """A toast for a test is half the words; three utterances, two of them empty, have 1.25 with a spread of 1."""
    assert errors_of("This is a test.", "This is toast.", "en")[:2] == (4, 2)
    utterances = [("", "one two three four"), ("", ""), ("a b c d", "a b c e")]
    words, errors, *_ = np.array([errors_of(*texts, "fi") for texts in utterances], float).T
    values = {"words": words, "word_errors": errors}
    assert word_error_rate(Evidence(values), np.ones((1, 3)))[0] == 125.0
    assert error_share(Evidence(values), np.ones((1, 3)), "word_errors")[0] == pytest.approx(200 / 3)
    assert spread(errors, words) == pytest.approx(1.0)
    assert math.isnan(spread([1.0], [0.0]))


def test_a_language_without_spaces_is_counted_in_characters_too() -> None:
    """A Japanese sentence is one word, wrong as a whole; of its characters one is wrong."""
    assert errors_of("今日は晴れです。", "今日は雨れです。", "ja") == (1, 1, 7, 1)


def test_vowel_marks_count_as_characters() -> None:
    """The basic normaliser drops the vowel signs of Hindi and sees no error; in characters there are two."""
    assert errors_of("किताब", "किताबें", "hi") == (3, 0, 5, 2)


@given(st.lists(st.tuples(*[st.text("ab cd", max_size=12)] * 2), min_size=1, max_size=8))
def test_rates_are_those_of_jiwer(texts: list[tuple[str, str]]) -> None:
    """Over a corpus, in words after the basic normaliser and in characters without spaces."""
    found = np.array([errors_of(truth, heard, "fi") for truth, heard in texts], float).T
    values = dict(zip(("words", "word_errors", "characters", "character_errors"), found, strict=True))
    ones = np.ones((1, len(texts)))
    normal = [[BasicTextNormalizer()(text) for text in pair] for pair in texts]
    letters = [[text.replace(" ", "") for text in pair] for pair in texts]
    for ours, pairs, rate in (
        (word_error_rate, normal, jiwer.process_words), (character_error_rate, letters, jiwer.process_characters),
    ):  # fmt: skip
        kept = [pair for pair in pairs if pair[0].strip()]
        extra = sum(len(b.split()) if rate is jiwer.process_words else len(b) for a, b in pairs if not a.strip())
        mine = ours(Evidence(values), ones)[0]
        if not kept:
            assert np.isnan(mine)
            continue
        theirs = rate(*map(list, zip(*kept, strict=True)))
        errors = theirs.substitutions + theirs.deletions + theirs.insertions
        assert mine == pytest.approx(100 * (errors + extra) / (theirs.hits + theirs.substitutions + theirs.deletions))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_the_spread_is_that_of_weighted_moments(counts: list[tuple[int, int]]) -> None:
    """The mean of squares about the corpus rate, weighted by numpy."""
    errors, words = np.array(counts, float).T
    if not words.any():
        return
    rate = errors.sum() / words.sum()
    own = np.divide(errors, words, out=np.zeros_like(errors), where=words > 0)
    assert spread(errors, words) == pytest.approx(np.sqrt(np.average((own - rate) ** 2, weights=words)))
