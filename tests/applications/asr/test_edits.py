"""Edits are counted as by hand, and as jiwer counts them."""

from __future__ import annotations

import random

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.asr.edits import Edits, count_edits

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("the cat sat", "the cat sat", Edits(0, 0, 0)),
        ("the cat sat", "the bat sat", Edits(1, 0, 0)),
        ("the cat sat", "the sat", Edits(0, 1, 0)),
        ("the cat sat", "the big cat sat", Edits(0, 0, 1)),
        ("the cat sat", "", Edits(0, 3, 0)),
        ("", "the cat", Edits(0, 0, 2)),
        ("", "", Edits(0, 0, 0)),
        ("a b", "b a", Edits(0, 1, 1)),
        ("ten of clubs", "10 of clubs", Edits(1, 0, 0)),
        ("he was not an ill disposed young man", "he was not an old sposed young man", Edits(2, 0, 0)),
        ("a a b c", "a c d", Edits(0, 2, 1)),
    ],
)
def test_hand_computed(reference: str, hypothesis: str, expected: Edits) -> None:
    """The counts are those that a person finds, with as many words right as can be."""
    assert count_edits(reference.split(), hypothesis.split()) == expected


def test_characters_of_a_text_are_units_too() -> None:
    """A text is a sequence of characters: kitten to sitting takes two substitutions and one insertion."""
    assert count_edits("kitten", "sitting") == Edits(2, 0, 1)


def test_agrees_with_jiwer() -> None:
    """Over 300 random pairs the errors are jiwer's, and never are more words wrong than jiwer finds."""
    draw = random.Random(0)
    for _ in range(300):
        reference, hypothesis = ([draw.choice("abcdef") for _ in range(draw.randint(1, 30))] for _ in range(2))
        ours, theirs = (
            count_edits(reference, hypothesis),
            jiwer.process_words(" ".join(reference), " ".join(hypothesis)),
        )
        assert ours.errors == theirs.substitutions + theirs.deletions + theirs.insertions
        assert ours.substitutions <= theirs.substitutions
        assert ours.deletions - ours.insertions == theirs.deletions - theirs.insertions


@given(WORDS, WORDS)
def test_turned_round_deletions_are_insertions(reference: list[str], hypothesis: list[str]) -> None:
    """Exchanging both sides exchanges deletions and insertions and keeps substitutions."""
    there, back = count_edits(reference, hypothesis), count_edits(hypothesis, reference)
    assert (there.substitutions, there.deletions, there.insertions) == (
        back.substitutions, back.insertions, back.deletions,
    )  # fmt: skip


@given(WORDS, WORDS)
def test_lengths_add_up(reference: list[str], hypothesis: list[str]) -> None:
    """What is right plus the errors makes up both lengths; no count is negative; none is 0 for other texts alone."""
    edits = count_edits(reference, hypothesis)
    right = len(reference) - edits.substitutions - edits.deletions
    assert right >= 0
    assert right == len(hypothesis) - edits.substitutions - edits.insertions
    assert min(edits) >= 0
    assert (edits.errors == 0) == (reference == hypothesis)
    assert edits.errors <= max(len(reference), len(hypothesis))


@given(WORDS, WORDS, WORDS)
def test_no_detour_is_shorter(first: list[str], second: list[str], third: list[str]) -> None:
    """The errors are a distance: the triangle inequality holds."""
    direct = count_edits(first, third).errors
    assert direct <= count_edits(first, second).errors + count_edits(second, third).errors
