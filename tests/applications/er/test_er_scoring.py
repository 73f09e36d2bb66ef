"""Scoring of emotions: the best class, names of emotions, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from codec_superb.applications.er.emotions import IEMOCAP_CLASSES, class_of
from codec_superb.applications.er.scoring import score
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.table import probe


def ask(
    emotions: dict[str, str | None],
    reference: dict[str, list[float]],
    resynthesis: dict[str, list[float]] | None = None,
    *,
    classes: Sequence[str] = IEMOCAP_CLASSES,
    failures: dict[str, str] | None = None,
) -> ProbeScores:
    """Score made-up predictions."""
    sides: list[dict[str, Prediction]] = [
        {clip: np.array(scores, np.float32) for clip, scores in side.items()}
        for side in (reference, resynthesis or reference)
    ]
    items = [Item(clip, "speech", emotion=emotion) for clip, emotion in emotions.items()]
    return score(probe("er"), ScoringInput("own", items, sides[0], sides[1], failures or {}, classes=classes))


def test_each_side_is_judged_by_its_own_scores() -> None:
    """Right on the reference, wrong on the resynthesis."""
    scored = ask({"a": "sadness"}, {"a": [0.1, 0.2, 0.3, 0.4]}, {"a": [0.4, 0.3, 0.2, 0.1]})
    assert scored.outcomes["a"].reference == {"correct": 1.0}
    assert scored.outcomes["a"].resynthesis == {"correct": 0.0}
    assert scored.pairs == ()


def test_a_tie_is_an_error() -> None:
    """A model that gives all emotions one score is right about nothing."""
    assert ask({"a": "anger"}, {"a": [0.25] * 4}).outcomes["a"].reference == {"correct": 0.0}


def test_excitement_counts_as_happiness_where_the_model_has_no_class_for_it() -> None:
    """The usual protocol of IEMOCAP; a model that knows excitement is asked for it."""
    happy = [0.0, 1.0, 0.0, 0.0]
    scored = ask({"a": "excitement"}, {"a": happy})
    assert scored.outcomes["a"].reference == {"correct": 1.0}
    assert scored.settings["counted"] == "excitement as happiness"
    five = ask({"a": "excitement"}, {"a": [*happy, 2.0]}, classes=(*IEMOCAP_CLASSES, "excitement"))
    assert five.outcomes["a"].reference == {"correct": 1.0}
    assert five.settings["counted"] == ""


def test_classes_that_the_dataset_lacks_compete_too() -> None:
    """A model of nine emotions that answers with another of them is wrong."""
    scored = ask({"a": "anger"}, {"a": [1, 0, 2]}, classes=("anger", "sadness", "unknown"))
    assert scored.outcomes["a"].reference == {"correct": 0.0}


def test_clips_without_a_class_or_a_prediction_are_counted_apart() -> None:
    """No label and an emotion unknown to the model are left out; a missing and an infinite answer have failed."""
    scored = ask(
        {"a": None, "b": "frustration", "c": "anger", "d": "anger", "e": "anger"},
        {"d": [1, 0, 0, np.inf], "e": [1, 0, 0, 0]}, failures={"c": "no resynthesis"},
    )  # fmt: skip
    assert [scored.outcomes[clip].status for clip in "abcde"] == ["left_out", "left_out", "failed", "failed", "ok"]
    assert "'frustration'" in scored.outcomes["b"].reason
    assert scored.outcomes["c"].reason == "no resynthesis"
    assert "finite" in scored.outcomes["d"].reason


def test_scores_of_another_model_are_refused() -> None:
    """A wrong number of classes is an error, never a score."""
    with pytest.raises(ApplicationError, match=r"expected 4 class scores of a, got shape \(2,\)"):
        ask({"a": "anger"}, {"a": [1, 0]})


@pytest.mark.parametrize(
    ("emotion", "name"),
    [
        ("anger", "anger"),
        ("Angry", "anger"),
        (" sad ", "sadness"),
        ("excited", "happiness"),
        ("calm", None),
        ("", None),
    ],
)
def test_spellings_of_datasets_find_their_class(emotion: str, name: str | None) -> None:
    """Adjectives, capitals and spaces do not part names; what the four do not hold has no class."""
    assert class_of(emotion, IEMOCAP_CLASSES) == name
