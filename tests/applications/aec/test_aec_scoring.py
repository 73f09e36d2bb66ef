"""Scoring of sound events: best class, ranks, label maps, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.aec.scoring import score
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.table import probe

AEC = probe("aec")


def ask(
    items: Sequence[tuple[str, tuple[str, ...]]],
    reference: dict[str, list[float]],
    resynthesis: dict[str, list[float]] | None = None,
    *,
    classes: Sequence[str] = ("bird", "cat", "dog"),
    dataset: str = "own",
    failures: dict[str, str] | None = None,
) -> ProbeScores:
    """Score made-up predictions."""
    sides: list[dict[str, Prediction]] = [
        {clip: np.array(scores, np.float32) for clip, scores in side.items()}
        for side in (reference, resynthesis or reference)
    ]
    listed = [Item(clip, "audio", events=events) for clip, events in items]
    return score(AEC, ScoringInput(dataset, listed, sides[0], sides[1], failures or {}, classes=classes))


class TestBestClass:
    """``correct``: whether the best of the dataset's classes is one of the clip's labels."""

    def test_each_side_is_judged_by_its_own_scores(self) -> None:
        """A clip right on the reference and wrong on the resynthesis keeps 1 and 0, with the count of its labels."""
        scored = ask(
            [("a", ("cat",)), ("b", ("dog",))], {"a": [0, 9, 1], "b": [0, 1, 9]}, {"a": [0, 1, 9], "b": [0, 1, 9]}
        )
        assert scored.outcomes["a"].shared == {"labels": 1.0}
        assert (scored.outcomes["a"].reference, scored.outcomes["a"].resynthesis) == (
            {"correct": 1.0},
            {"correct": 0.0},
        )
        assert scored.outcomes["b"].resynthesis == {"correct": 1.0}

    def test_only_classes_of_the_dataset_compete(self) -> None:
        """A class that no clip of the dataset has cannot be the best: the dog that sounds like a bird is a dog."""
        scored = ask([("a", ("cat",)), ("b", ("dog",))], {"a": [0, 9, 1], "b": [99, 1, 9]})
        assert scored.outcomes["b"].reference == {"correct": 1.0}

    def test_a_tie_with_another_class_is_an_error(self) -> None:
        """A model that gives every class one score is right about nothing."""
        scored = ask([("a", ("cat",)), ("b", ("dog",))], {"a": [5, 5, 5], "b": [5, 5, 5]})
        assert [outcome.reference["correct"] for outcome in scored.outcomes.values()] == [0.0, 0.0]

    def test_any_of_several_labels_will_do(self) -> None:
        """A clip of two classes is right where either is the best."""
        scored = ask([("a", ("cat", "dog")), ("b", ("bird",))], {"a": [0, 1, 9], "b": [3, 2, 1]})
        assert scored.outcomes["a"].reference == {"correct": 1.0}
        assert scored.outcomes["a"].shared == {"labels": 2.0}


class TestRanks:
    """Pairs: the rank of a clip among all clips by the score of one of its labels."""

    def test_a_rank_counts_clips_that_score_as_much(self) -> None:
        """Scores 9, 5, 5 of one class: ranks 1, 3, 3 of its clips; the reference and the resynthesis apart."""
        scored = ask(
            [("a", ("cat",)), ("b", ("cat",)), ("c", ("dog",))],
            {"a": [0, 9, 0], "b": [0, 5, 0], "c": [0, 5, 1]},
            {"a": [0, 1, 0], "b": [0, 5, 0], "c": [0, 3, 1]},
        )
        cats = [(pair.left, pair.reference, pair.resynthesis) for pair in scored.pairs if pair.right == "cat"]
        assert cats == [("a", 1.0, 3.0), ("b", 3.0, 1.0)]
        assert all(pair.target and pair.enrol_clean is None for pair in scored.pairs)

    @given(st.integers(0, 2**32 - 1), st.integers(2, 15))
    def test_ranks_are_those_of_counting(self, seed: int, clips: int) -> None:
        """Each rank is the number of clips with a score as large, counted one by one, also with ties."""
        random = np.random.default_rng(seed)
        names = ("bird", "cat", "dog")
        items = [(f"{clip:02}", (names[clip % 3],)) for clip in range(clips)]
        table = {clip: random.integers(0, 4, 3).tolist() for clip, _ in items}
        for pair in ask(items, table).pairs:
            at = names.index(pair.right)
            assert pair.reference == sum(other[at] >= table[pair.left][at] for other in table.values())


class TestLeftOut:
    """Clips that take no part are counted with the reason, and take no place in ranks."""

    def test_a_clip_without_events_and_one_without_a_counterpart(self) -> None:
        """Both are left out, each with its own reason; the others are ranked among themselves."""
        scored = ask([("a", ("cat",)), ("b", ()), ("c", ("kazoo",))], {"a": [0, 1, 0], "b": [0, 9, 0], "c": [0, 9, 0]})
        assert {clip: outcome.status for clip, outcome in scored.outcomes.items()} == {
            "a": "ok", "b": "left_out", "c": "left_out",
        }  # fmt: skip
        assert "labels" in scored.outcomes["b"].reason
        assert "'kazoo'" in scored.outcomes["c"].reason
        assert [pair.reference for pair in scored.pairs] == [1.0]
        assert scored.settings["labels_without_a_class"] == "kazoo"

    def test_a_failure_keeps_its_reason(self) -> None:
        """A clip without a prediction is failed, and is not asked for."""
        scored = ask([("a", ("cat",)), ("b", ("dog",))], {"a": [0, 1, 0]}, failures={"b": "no resynthesis"})
        assert (scored.outcomes["b"].status, scored.outcomes["b"].reason) == ("failed", "no resynthesis")

    def test_a_score_that_is_no_number_is_a_failure(self) -> None:
        """NaN and infinity cost the clip, on either side."""
        scored = ask(
            [("a", ("cat",)), ("b", ("dog",))], {"a": [0, 1, 0], "b": [0, 0, 1]}, {"a": [0, 1, 0], "b": [0, np.nan, 1]}
        )
        assert scored.outcomes["b"].status == "failed"
        assert "finite" in scored.outcomes["b"].reason

    @pytest.mark.parametrize("scores", [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
    def test_scores_of_another_number_of_classes_are_refused(self, scores: list[float]) -> None:
        """Predictions of another model than the classes are an error, never a score."""
        with pytest.raises(ApplicationError, match="expected 3 class scores of a"):
            ask([("a", ("cat",))], {"a": scores})


class TestLabelMap:
    """Labels of a dataset among AudioSet's names."""

    def test_a_label_is_as_likely_as_the_likeliest_of_its_classes(self) -> None:
        """The dog of mini is heard where AudioSet's Bark is, although Dog itself scores low."""
        scored = ask(
            [("a", ("dog",)), ("b", ("cat",))],
            {"a": [0.1, 0.9, 0.5, 0.0], "b": [0.1, 0.1, 0.6, 0.5]},
            classes=("Dog", "Bark", "Cat", "Speech"),
            dataset="mini",
        )
        assert [outcome.reference["correct"] for outcome in scored.outcomes.values()] == [1.0, 1.0]

    def test_a_label_without_a_fair_counterpart_says_why(self) -> None:
        """The coin of a game is no falling coin: left out with the map's reason, although a class is named alike."""
        scored = ask(
            [("a", ("coin",)), ("b", ("dog",))], {"a": [1, 0], "b": [0, 1]}, classes=("Coin", "Dog"), dataset="mini"
        )
        assert scored.outcomes["a"].status == "left_out"
        assert "electronic game" in scored.outcomes["a"].reason

    def test_audioset_and_zero_shot_classes_stand_for_themselves(self) -> None:
        """A label that is word for word a class of the model is not looked up: ``dog`` of a zero-shot model."""
        scored = ask(
            [("a", ("dog",)), ("b", ("coin",))], {"a": [1, 5], "b": [9, 2]}, classes=("coin", "dog"), dataset="mini"
        )
        assert [outcome.status for outcome in scored.outcomes.values()] == ["ok", "ok"]

    def test_case_and_punctuation_do_not_part_names(self) -> None:
        """FSD50K writes AudioSet's names with underscores and 'and'."""
        scored = ask(
            [("a", ("Accelerating_and_revving_and_vroom",)), ("b", ("Bark",))],
            {"a": [1, 0], "b": [0, 1]}, classes=("Accelerating, revving, vroom", "Bark"), dataset="fsd50k",
        )  # fmt: skip
        assert scored.settings["classes"] == 2
