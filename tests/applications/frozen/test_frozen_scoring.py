"""Simple classifiers on frozen vectors: what they learn, and from whom they never do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from codec_superb.applications.frozen.rows import LABELS, METHODS
from codec_superb.applications.frozen.scoring import score
from codec_superb.applications.interface import Item, ProbeScores, ScoringInput
from codec_superb.applications.table import APPLICATIONS, PROBES

Vectors = Mapping[str, NDArray[np.float32]]


def _clips(speakers: int = 10, of_each: int = 4, voice: float = 0.5, seed: int = 0) -> tuple[list[Item], Vectors]:
    """Return clips of two emotions whose vectors lie apart, and of a voice that lies apart too."""
    rng = np.random.default_rng(seed)
    voices = rng.standard_normal((speakers, 8)) * voice
    items, vectors = [], {}
    for speaker in range(speakers):
        for number in range(of_each):
            emotion = ("joy", "anger")[number % 2]
            clip = f"{speaker}-{number}"
            items.append(Item(clip, "speech", speaker=str(speaker), emotion=emotion))
            vector = np.concatenate(
                [voices[speaker], [3.0 if emotion == "joy" else -3.0], rng.standard_normal(7) * 0.1]
            )
            vectors[clip] = vector.astype(np.float32)
    return sorted(items, key=lambda item: item.clip), vectors


def _score(key: str, items: list[Item], reference: Vectors, resynthesis: Vectors | None = None) -> ProbeScores:
    return score(PROBES[key], ScoringInput("own", items, reference, resynthesis or reference))


def _right(found: ProbeScores, side: str = "reference") -> float:
    return float(np.mean([getattr(of, side)["correct"] for of in found.outcomes.values() if of.status == "ok"]))


@pytest.mark.parametrize("method", METHODS)
def test_what_lies_apart_is_told_apart(method: str) -> None:
    """Voices that were never heard have their emotions named; frames are averaged to the same vectors."""
    items, vectors = _clips(speakers=30)
    key = f"xares_{method}_emotion"
    found = _score(key, items, vectors)
    assert _right(found) >= 0.95
    assert found.settings["held_out"] == "speaker"
    frames = {clip: np.stack([vector + 1, vector - 1]) for clip, vector in vectors.items()}
    assert _score(key, items, frames).outcomes == found.outcomes
    # a codec that turns every sound into one leaves chance
    flat = dict.fromkeys(vectors, np.ones(16, np.float32))
    lost = _score(key, items, vectors, flat)
    assert _right(lost) == _right(found)
    assert 0.3 <= _right(lost, "resynthesis") <= 0.7
    same = [of.resynthesis["same"] for of in lost.outcomes.values()]
    assert 0.3 <= float(np.mean(same)) <= 0.7


@pytest.mark.parametrize("method", METHODS)
def test_shuffled_labels_are_at_chance(method: str) -> None:
    """Nothing is read out of vectors that say nothing of the label: no clip teaches its own answer."""
    items, vectors = _clips(speakers=30)
    rng = np.random.default_rng(1)
    shuffled = [
        Item(of.clip, of.category, speaker=of.speaker, emotion=str(name))
        for of, name in zip(items, rng.permutation([item.emotion for item in items]), strict=True)
    ]
    assert 0.3 <= _right(_score(f"xares_{method}_emotion", shuffled, vectors)) <= 0.7


@pytest.mark.parametrize("method", METHODS)
def test_a_voice_is_learnt_from_its_other_clips(method: str) -> None:
    """Of the label speaker clips are held out and not speakers, who would have nobody to learn from."""
    items, vectors = _clips(of_each=10, voice=6)
    found = _score(f"xares_{method}_speaker", items, vectors)
    assert found.settings["held_out"] == "clip"
    assert _right(found) >= 0.9


def test_neighbours_against_a_count() -> None:
    """Ten by cosine of the other folds, votes by softmax of cosine over 0.07: brute force, clip by clip."""
    rng = np.random.default_rng(3)
    items = [Item(f"{at:02d}", "audio", events=(("cat", "dog", "owl")[at % 3],)) for at in range(40)]
    vectors = {item.clip: rng.standard_normal(5).astype(np.float32) for item in items}
    found = _score("xares_knn_events", items, vectors)
    from codec_superb.applications.er.folds import make_folds

    folds = make_folds(items)
    for item in items:
        others = [of for of in items if folds.of[of.clip] != folds.of[item.clip]]
        own = vectors[item.clip].astype(float)
        cosine = {
            of.clip: float(
                own @ vectors[of.clip] / np.linalg.norm(own) / np.linalg.norm(vectors[of.clip].astype(float))
            )
            for of in others
        }
        votes = dict.fromkeys(("cat", "dog", "owl"), 0.0)
        for of in sorted(others, key=lambda of: -cosine[of.clip])[:10]:
            votes[of.events[0]] += np.exp(cosine[of.clip] / 0.07)
        right = max(votes, key=lambda name: votes[name]) == item.events[0]
        assert found.outcomes[item.clip].reference["correct"] == float(right)


def test_clips_with_several_classes_and_clips_alone() -> None:
    """Any of its classes is right; a class of one clip cannot be learnt, and such a clip is left out and says so."""
    rng = np.random.default_rng(0)
    items = [Item(f"{at}", "music", events=("singing", "piano") if at % 2 else ("drums",)) for at in range(12)]
    vectors = {
        item.clip: (rng.standard_normal(4) * 0.1 + (5 if len(item.events) > 1 else -5)).astype(np.float32)
        for item in items
    }
    items.append(Item("x", "music", events=("flute",)))
    vectors["x"] = np.zeros(4, np.float32)
    for method in METHODS:
        found = _score(f"xares_{method}_events", items, vectors)
        assert found.outcomes["x"].status == "left_out"
        assert found.outcomes["x"].reason == "no other fold has a clip of flute"
        assert _right(found) == 1.0
    alone = _score("xares_knn_events", items[:1], vectors)
    assert alone.outcomes["0"].reason == "no other clip to learn from"


def test_what_cannot_be_used_is_said() -> None:
    """No label, a failed clip, a vector of NaN: left out, failed, failed."""
    items, vectors = _clips()
    items[0] = Item(items[0].clip, "speech", speaker="9")
    broken = dict(vectors)
    broken[items[1].clip] = np.full(16, np.nan, np.float32)
    question = ScoringInput("own", items, vectors, broken, failures={items[2].clip: "too short"})
    found = score(PROBES["xares_linear_emotion"], question).outcomes
    assert [found[items[at].clip].status for at in range(3)] == ["left_out", "failed", "failed"]
    assert found[items[2].clip].reason == "too short"
    assert sum(of.status == "ok" for of in found.values()) == len(items) - 3


def test_each_method_has_each_label() -> None:
    """By ``xares.linear`` and ``xares.knn``; the tasks of decoders are apart."""
    for method in METHODS:
        keys = APPLICATIONS[f"xares.{method}"]
        assert len(keys) == len(LABELS)
        assert not set(keys) & set(APPLICATIONS["xares"])
