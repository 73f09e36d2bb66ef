"""Classification: by texts of the classes, or by heads that have heard neither the clip nor its speaker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score
from sklearn.preprocessing import StandardScaler
from support.applications.known_texts import collections_of, question
from support.pipeline.stats import row

from codec_superb.applications.er.folds import make_folds
from codec_superb.applications.interface import Item, ProbeScores, ScoringInput
from codec_superb.applications.mseb.scorers import classification
from codec_superb.applications.mseb.tasks import read_tasks
from codec_superb.applications.table import PROBES
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.tables.rows import PairRow, ProbeValue


def values(key: str, scored: ProbeScores) -> dict[str, tuple[float | None, float | None]]:
    """Return reference and resynthesis of each figure as the service computes them of rows and pairs."""
    rows = [
        row(clip, dataset="d", probes={key: ProbeValue(
            status=of.status, reason=of.reason, shared=dict(of.shared), reference=dict(of.reference),
            resynthesis=dict(of.resynthesis),
        )})
        for clip, of in scored.outcomes.items()
    ]  # fmt: skip
    pairs = [PairRow(dataset="d", probe=key, **pair._asdict()) for pair in scored.pairs]
    found = aggregate_applications(rows, pairs)
    return {one.figure.removeprefix(f"{key}_"): (one.reference.value, one.resynthesis.value) for one in found}


INTENTS = {"up": [1.0, 0.0], "down": [0.0, 1.0], "stop": [0.5, 0.5]}


class TestTexts:
    """Zero-shot."""

    PROBE = PROBES["mseb_classification_intent"]
    ITEMS = tuple(
        Item(f"c{n}", "speech", text, "en", extra=(("intent", text),)) for n, text in enumerate(["up", "up", "down"])
    )

    def ask(self, *answers: list[float], folder: Path | None = None) -> ScoringInput:
        """Ask with the answers on the resynthesis, the references being all right."""
        reference = {item.clip: np.array(INTENTS[item.text or ""], np.float32) for item in self.ITEMS}
        given = {item.clip: np.array(answer, np.float32) for item, answer in zip(self.ITEMS, answers, strict=True)}
        collections = {}
        if folder:
            rows = [CollectionRow(name, text=name) for name in INTENTS]
            collections = collections_of(folder, {"labels": rows})
        return question(self.ITEMS, reference, given, collections, INTENTS)

    def test_the_labels_themselves_are_the_classes(self) -> None:
        """Without a collection; a tie counts as wrong, and the oracle is right."""
        scored = classification.score(self.PROBE, self.ask([1, 0], [1, 1], [1, 0]))
        found = values(self.PROBE.key, scored)
        assert found["accuracy_pct"] == (100.0, pytest.approx(100 / 3))
        assert found["balanced_accuracy_pct"] == (100.0, 25.0)
        assert found["oracle_accuracy_pct"] == (100.0, 100.0)
        assert found["top5_pct"] == (100.0, 100.0)
        assert scored.settings["classes"] == 2

    def test_a_collection_adds_classes_that_no_clip_has(self, tmp_path: Path) -> None:
        """All classes of the collection compete."""
        scored = classification.score(self.PROBE, self.ask([1, 0], [0.4, 0.5], [0, 1], folder=tmp_path))
        assert scored.settings["classes"] == 3
        assert [of.resynthesis["predicted"] for of in scored.outcomes.values()] == [1, 2, 2]
        assert scored.outcomes["c1"].resynthesis["rank"] == 3

    def test_a_label_that_is_no_class_leaves_its_clip_out(self, tmp_path: Path) -> None:
        """With its name."""
        odd = Item("c9", "speech", "up", "en", extra=(("intent", "left"),))
        asked = self.ask([1, 0], [1, 0], [0, 1], folder=tmp_path)
        asked = question([*self.ITEMS, odd], asked.reference, asked.resynthesis, dict(asked.collections), INTENTS)
        outcome = classification.score(self.PROBE, asked).outcomes["c9"]
        assert (outcome.status, outcome.reason) == ("left_out", "the label 'left' is none of the 3 classes")


class TestHeads:
    """Trained on the references."""

    PROBE = PROBES["mseb_classification_gender"]

    def asked(self, noise: float = 0.8, seed: int = 0) -> ScoringInput:
        """Draw 60 clips of 12 speakers in two classes, and two of another."""
        draw = np.random.default_rng(seed)
        items, vectors = [], {}
        for n in range(60):
            kind = ("female", "male")[n % 2]
            items.append(Item(f"c{n:02}", "speech", speaker=f"{kind}{n % 12}", extra=(("gender", kind),)))
            vectors[f"c{n:02}"] = (draw.normal(0, noise, 6) + (n % 2)).astype(np.float32)
        items += [Item(f"x{n}", "speech", speaker="z", extra=(("gender", "no answer"),)) for n in range(2)]
        vectors |= {f"x{n}": np.zeros(6, np.float32) for n in range(2)}
        worse = {clip: vector + draw.normal(0, 1.5, 6).astype(np.float32) for clip, vector in vectors.items()}
        return question(items, vectors, worse)

    def test_it_agrees_with_logistic_regression_of_scikit_learn(self) -> None:
        """By the same folds on the same standardised numbers, weakly regularised: nearly every prediction."""
        asked = self.asked()
        scored = classification.score(self.PROBE, asked)
        items = [item for item in asked.items if item.clip.startswith("c")]
        folds = make_folds(items)
        assert scored.settings["folds"] == "5 by speaker"
        label = np.array([item.extra[0][1] == "male" for item in items])
        vectors = np.array([asked.reference[item.clip] for item in items])
        fold_of = np.array([folds.of[item.clip] for item in items])
        theirs = np.zeros(len(items), bool)
        for fold in range(folds.count):
            scaler = StandardScaler().fit(vectors[fold_of != fold])
            model = LogisticRegression().fit(scaler.transform(vectors[fold_of != fold]), label[fold_of != fold])
            theirs[fold_of == fold] = model.predict(scaler.transform(vectors[fold_of == fold]))
        ours = np.array([scored.outcomes[item.clip].reference["predicted"] == 2 for item in items])
        assert (ours == theirs).mean() > 0.95
        assert abs(accuracy_score(label, ours) - accuracy_score(label, theirs)) < 0.05

    def test_others_than_the_classes_are_left_out(self) -> None:
        """MSEB counts two genders; the codec loses accuracy, an identity loses nothing."""
        asked = self.asked()
        scored = classification.score(self.PROBE, asked)
        assert scored.outcomes["x0"].reason == "the label 'no answer' is none of the 2 classes"
        reference, resynthesis = values(self.PROBE.key, scored)["accuracy_pct"]
        assert reference is not None
        assert resynthesis is not None
        assert reference > 80 > resynthesis
        same = classification.score(self.PROBE, question(asked.items, asked.reference))
        assert all(of.reference == of.resynthesis for of in same.outcomes.values())

    def test_the_head_is_the_same_for_every_codec_and_order(self) -> None:
        """A clip that one codec failed on still trains; the order of clips changes nothing."""
        asked = self.asked()
        whole = classification.score(self.PROBE, asked).outcomes
        failed = question(asked.items[::-1], asked.reference, asked.resynthesis, failures={"c00": "gone"})
        fewer = classification.score(self.PROBE, failed).outcomes
        assert fewer["c00"].status == "failed"
        assert all(fewer[clip] == of for clip, of in whole.items() if clip != "c00")

    def test_speakers_are_told_apart_by_clips_and_alone_by_none(self) -> None:
        """Where the speaker is the class clips are held out; one speaker a class leaves no two classes to train on."""
        asked = self.asked(noise=0.1)
        probe = PROBES["mseb_classification_speaker"]
        assert classification.score(probe, asked).settings["folds"] == "5 by clip"
        two = [item for item in asked.items if item.speaker in {"female0", "male1"}]
        outcomes = classification.score(self.PROBE, question(two, asked.reference)).outcomes
        assert {of.reason for of in outcomes.values()} == {"without its fold the references have a single class"}

    def test_too_few_clips_to_train_on_are_no_crash(self) -> None:
        """One clip, and none."""
        one = self.asked().items[:1]
        for items in (one, []):
            outcomes = classification.score(self.PROBE, question(items, self.asked().reference)).outcomes
            assert [of.status for of in outcomes.values()] == ["left_out"] * len(items)


class TestSeveralLabels:
    """Events and birds."""

    def test_ranks_and_decisions_of_a_head(self, tmp_path: Path) -> None:
        """Three classes of which a clip may have none, and one of no clip, which counts 0 as published."""
        probe = PROBES["mseb_classification_birds"]
        draw = np.random.default_rng(1)
        owned = draw.random((50, 3)) < 0.4
        names = np.array(["jay", "owl", "wren"])
        items = [Item(f"c{n:02}", "audio", events=tuple(names[mine].tolist())) for n, mine in enumerate(owned)]
        vectors = {
            item.clip: (mine + draw.normal(0, 0.3, 3)).astype(np.float32)
            for item, mine in zip(items, owned, strict=True)
        }
        rows = [CollectionRow(name, text=name) for name in [*names.tolist(), "kea"]]
        collections = collections_of(tmp_path, {"birds": rows})
        scored = classification.score_several(probe, question(items, vectors, collections=collections))
        assert all(of.status == "ok" for of in scored.outcomes.values())
        assert [of.shared["labels"] for of in scored.outcomes.values()] == owned.sum(axis=1).tolist()
        found = values(probe.key, scored)
        assert found["map_pct"][0] is not None
        assert found["map_compat_pct"][0] == pytest.approx(found["map_pct"][0] * 3 / 4)
        assert found["map_pct"][0] > 85
        assert found["micro_f1"][0] is not None
        assert found["micro_f1"][0] > 0.7
        assert found["hamming"] == found["hamming"][::-1]

    def test_scores_of_texts_are_no_probabilities(self) -> None:
        """Ranks are those of scikit-learn's average precision; no decision is reported."""
        probe = read_tasks(
            "locales: {}\ntasks: {mseb_x: {kind: 'classification, several labels', task: X, label: X, needs: [events],"
            " options: {label: events}, backend: clap}}"
        ).probes[0]
        texts = {"dog": [1.0, 0.0], "rain": [0.0, 1.0]}
        draw = np.random.default_rng(2)
        items = [Item(f"c{n}", "audio", events=(("dog",), ("rain",), ("dog", "rain"))[n % 3]) for n in range(12)]
        answers = {item.clip: draw.normal(0, 1, 2).astype(np.float32) for item in items}
        scored = classification.score_several(probe, question(items, answers, vectors=texts))
        assert all(of.reference["given"] == -1 for of in scored.outcomes.values())
        table = np.array([answers[item.clip] for item in items])
        truth = np.array([[name in item.events for name in texts] for item in items])
        for column, name in enumerate(texts):
            mine = [pair for pair in scored.pairs if pair.right == name]
            ranks = sorted(pair.reference for pair in mine)
            own = np.mean([(place + 1) / rank for place, rank in enumerate(ranks)])
            assert own == pytest.approx(average_precision_score(truth[:, column], table[:, column]))
