"""Trials, screening and results as functions: what the standards say, at its edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.profile import examples

from codec_superb.server.listening_tests.definition import (
    GOLD,
    LOW_ANCHOR,
    MID_ANCHOR,
    REFERENCE,
    Definition,
    TestSettings,
)
from codec_superb.server.listening_tests.plan import LETTERS, questions_of, trials_of
from codec_superb.server.listening_tests.results import analyse
from codec_superb.server.listening_tests.screening import Answered

KINDS = ("ab", "abx", "mushra", "acr", "dcr")


def settings(kind: str, clips: int = 20, **fields: Any) -> TestSettings:
    """Make settings of two codecs."""
    found = [f"c{number}" for number in range(clips)]
    usual = {"kind": kind, "title": "Title", "codecs": ["one", "two"], "found": found, "source": "", "seed": 1}
    return TestSettings.model_validate({**usual, "training": 0, **fields})


@given(st.integers(0, 2**31 - 1), st.sampled_from(KINDS), st.integers(1, 4), st.integers(0, 3), st.integers(0, 9))
@examples(200)
def test_trials_differ_in_their_order_alone(seed: int, kind: str, clips: int, training: int, gold: int) -> None:
    """Every participant gets the same questions, each once; sounds are a permutation, X is one of the two."""
    traps = [{"file": "x", "answer": 4}] if kind in {"acr", "dcr"} else []
    made = settings(kind, clips, training=training, gold=gold, traps=traps, repeats=2)
    trials = trials_of(made, seed)
    assert trials == trials_of(made, seed)
    keys = [trial.key for trial in trials]
    assert len(set(keys)) == len(keys)
    counted = {trial.key for trial in trials if trial.role != "training"}
    assert counted == {trial.key for trial in trials_of(made, 1) if trial.role != "training"}
    assert sum(trial.role == "gold" for trial in trials) == (0 if kind == "mushra" else gold)
    assert [trial.role for trial in trials[: len(keys) - len(counted)]] == ["training"] * (len(keys) - len(counted))
    for trial in trials:
        labels = [slot.label for slot in trial.slots]
        if kind == "abx":
            assert labels == ["A", "B", "X"]
            assert trial.slots[2].condition in {trial.slots[0].condition, trial.slots[1].condition}
        else:
            assert labels == list(LETTERS[: len(labels)])
        if kind == "mushra":
            assert sorted(slot.condition for slot in trial.slots) == sorted(made.conditions)


@pytest.mark.parametrize(("kind", "advice"), [("ab", "write each once"), ("abx", "`repeats` asks each of them")])
@pytest.mark.parametrize("again", [("one", "two"), ("two", "one")])
def test_a_pair_stands_once(kind: str, advice: str, again: tuple[str, str]) -> None:
    """It would be one question in two places; in the other order too, since a listener hears them in a drawn one."""
    asked = {"kind": kind, "title": "Title", "codecs": ["one", "two"]}
    pairs = [("one", "two"), ("one", REFERENCE)]
    assert Definition.model_validate({**asked, "pairs": pairs}).pairs
    with pytest.raises(ValidationError, match=f"pairs: one and two stand twice, in either order; {advice}"):
        Definition.model_validate({**asked, "pairs": [*pairs, again]})
    assert settings(kind, pairs=[*pairs, again]).pairs  # of a test that was made before


def rated(settings: TestSettings, changes: Mapping[str, Mapping[str, float]]) -> Answered:
    """Answer a MUSHRA test: as a good listener but for the changes."""
    usual = {"one": 60.0, "two": 40.0, REFERENCE: 100.0, LOW_ANCHOR: 20.0, MID_ANCHOR: 50.0}
    return Answered(1, finished=True, ratings={clip: {**usual, **changes.get(clip, {})} for clip in settings.found})


@pytest.mark.parametrize(
    ("condition", "value", "items", "left"),
    [
        (REFERENCE, 89, 3, False), (REFERENCE, 89, 4, True), (REFERENCE, 90, 20, False),
        (MID_ANCHOR, 91, 3, False), (MID_ANCHOR, 91, 4, True), (MID_ANCHOR, 90, 20, False),
    ],
)  # fmt: skip
def test_mushra_screens_by_the_standard(condition: str, value: float, items: int, left: bool) -> None:
    """BS.1534-3: more than 15 % of 20 items, which three are not; 90 itself is neither below nor above."""
    made = settings("mushra")
    listener = rated(made, {clip: {condition: value} for clip in made.found[:items]})
    others = [Answered(number, finished=True, ratings=rated(made, {}).ratings) for number in range(2, 6)]
    found = analyse(made, [listener, *others])
    assert (1 in found.left_out) is left
    assert set(found.left_out) <= {1}
    assert found.conditions[0].n == 20 * (4 if left else 5)
    assert found.conditions[0].n_before == 100


@pytest.mark.parametrize(("share", "clips", "items"), [(0.35, 180, 63), (0.29, 100, 29)])
def test_a_share_of_the_items_is_exact(share: float, clips: int, items: int) -> None:
    """As many as the share are not more than it, whose product in binary is a little less."""
    made = settings("mushra", clips, reference_share=share)
    others = [Answered(number, finished=True, ratings=rated(made, {}).ratings) for number in range(2, 6)]
    for low, left in ((items, False), (items + 1, True)):
        listener = rated(made, {clip: {REFERENCE: 10.0} for clip in made.found[:low]})
        assert (1 in analyse(made, [listener, *others]).left_out) is left


def test_items_that_the_anchor_hardly_degrades_are_held_against_nobody() -> None:
    """BS.1534-3: where more than a quarter of the listeners rate it above 90 the item is to blame."""
    made = settings("mushra")
    deaf = {clip: {MID_ANCHOR: 95.0} for clip in made.found[:5]}
    people = [Answered(number, finished=True, ratings=rated(made, deaf).ratings) for number in range(2)]
    people += [Answered(number, finished=True, ratings=rated(made, {}).ratings) for number in range(2, 7)]
    assert not analyse(made, people).left_out  # 2 of 7
    people.append(Answered(7, finished=True, ratings=rated(made, {}).ratings))
    assert set(analyse(made, people).left_out) == {0, 1}  # 2 of 8 are no more than a quarter


@pytest.mark.parametrize("kind", ["ab", "abx", "acr", "dcr"])
def test_gold_questions_and_traps_screen(kind: str) -> None:
    """One wrong of six is more than a tenth; a recorded question may not be wrong at all; who stops is not counted."""
    traps = [{"file": "x", "answer": 4}] if kind in {"acr", "dcr"} else []
    made = settings(kind, 3, traps=traps)
    right: dict[str, dict[str, float]] = {}
    for trial in trials_of(made, 1):
        values = {slot.condition: 3.0 for slot in trial.slots}
        if trial.role == "gold":
            values = {GOLD: 2.0} if kind in {"acr", "dcr"} else {REFERENCE: 1.0, GOLD: 0.0}
        if trial.role == "trap":
            values = {"trap": 4.0}
        if kind == "abx":
            values = {" · ".join(trial.pair): 1.0}
        elif kind == "ab" and trial.role == "counted":
            values = {trial.pair[0]: 1.0, trial.pair[1]: 0.0}
        right[trial.key] = values
    wrongs = [dict(right)]
    for question in [questions_of(made)[0], questions_of(made)[-1]]:
        wrong = dict.fromkeys(right[question.key], 0.5 if kind == "ab" else 3.0 if kind != "abx" else 0.0)
        wrongs.append(right | {question.key: wrong})
    people = [Answered(number, finished=True, ratings=given) for number, given in enumerate(wrongs)]
    found = analyse(made, [*people, Answered(9, finished=False, ratings={})])
    assert set(found.left_out) == {1, 2, 9}
    assert "gold questions" in found.left_out[1]
    assert ("recorded question" in found.left_out[2]) is bool(traps)
    assert found.left_out[9] == "did not finish"


@pytest.mark.parametrize("kind", ["acr", "dcr"])
@pytest.mark.parametrize(("original", "left"), [(1.0, True), (4.0, False)])
def test_who_rates_originals_as_noise_is_left_out(kind: str, original: float, left: bool) -> None:
    """A listener who always answers 1 has each gold question right."""
    made = settings(kind, 3)
    ratings = {
        trial.key: {slot.condition: original if slot.condition == REFERENCE else 1.0 for slot in trial.slots}
        for trial in trials_of(made, 1)
    }
    found = analyse(made, [Answered(1, finished=True, ratings=ratings)])
    told = {1: "rated the originals no better than the noise of the gold questions"}
    assert found.left_out == (told if left else {})


def test_means_and_quartiles_are_those_of_the_ratings() -> None:
    """Listeners who rate 40, 50, 60, 70: mean and median 55, quartiles 47.5 and 62.5, an interval around them."""
    made = settings("mushra", 1)
    people = [
        Answered(number, finished=True, ratings=rated(made, {"c0": {"one": value}}).ratings)
        for number, value in enumerate((40.0, 50.0, 60.0, 70.0))
    ]
    one = analyse(made, people).conditions[0]
    assert (one.mean, one.median, one.lower_quartile, one.upper_quartile) == (55.0, 55.0, 47.5, 62.5)
    # Student's interval of these four: 55 ± 3.182 · 12.91 / 2
    assert one.low is not None
    assert one.high is not None
    assert one.low == pytest.approx(34.46, abs=1.5)
    assert one.high == pytest.approx(75.54, abs=1.5)
