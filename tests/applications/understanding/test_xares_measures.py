"""Measures of XARES-LLM: its published examples, and properties of DATE and FENSE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.interface import Item, ProbeScores, ScoringInput
from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.probe import Fault, KeptClip
from codec_superb.applications.task_definitions.definition import (
    MessageTemplate,
    PartTemplate,
    PromptDefinition,
    TaskDefinition,
    TaskFile,
    Use,
)
from codec_superb.applications.understanding.cases import Case, Counts, LeftOut, Verdict
from codec_superb.applications.understanding.figures import (
    inverse_character_error_rate,
    inverse_word_error_rate,
    mean_average_precision,
)
from codec_superb.applications.understanding.limits import labels
from codec_superb.applications.understanding.measures.date_score import (
    DELTAS,
    discrimination,
    harmonic,
    idf,
    term_frequencies,
)
from codec_superb.applications.understanding.measures.table import made
from codec_superb.applications.understanding.measures.xares import text_form
from codec_superb.applications.understanding.probes import probe_of
from codec_superb.applications.understanding.scoring import score

PUBLISHED = np.array([[0.9, 0.2, 0.1], [0.85, 0.8, 0.1], [0.1, 0.1, 0.5]])


def _measure(name: str, cases: list[Case], answers: Mapping[str, str] | None = None, **arguments: Any) -> Any:
    return made(Use(name=name, arguments=arguments), cases, answers)


def _case(*truth: str, options: tuple[str, ...] = (), clip: str = "a") -> Case:
    return Case(clip, "en", truth, options)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("今天，好。", "今天好。"), ("The well-known  Man!", "the well known man"), ("ＡＢＣ", "abc"),
        ("crying_baby", "cryingbaby"), (" - ", ""),
    ],
)  # fmt: skip
def test_the_form_of_texts(text: str, form: str) -> None:
    """NFKC, lower case, hyphens as spaces, no ASCII punctuation; an ideographic full stop stays."""
    assert text_form(text) == form
    assert text_form(form) == form


def test_accuracy_is_equality_in_that_form() -> None:
    """An answer that is no class is unreadable, and wrong."""
    case = _case("Throat clearing", options=("Throat clearing", "Cough"))
    measure = _measure("xares-accuracy", [case])
    assert measure("throat-clearing.", case) == Verdict(True, "Throat clearing")
    assert measure("cough", case) == Verdict(False, "Cough")
    assert measure("a cough", case) == Verdict(False, None)
    assert measure("", _case("x")) == Verdict(False, None)


def _figure(counts: list[Counts]) -> float:
    names = ("substitutions", "deletions", "insertions", "words", "characters")
    values = {name: np.array([float(getattr(of, name)) for of in counts]) for name in names}
    figure = inverse_word_error_rate if counts[0].words else inverse_character_error_rate
    return float(figure(Evidence(values), np.ones((1, len(counts))))[0])


def test_one_less_the_error_rates() -> None:
    """The published examples: 0.8 and 0.8; more errors than words give 0 and not less."""
    cases = [_case("the well-known man"), _case("hello")]
    measure = _measure("iwer", cases)
    heard = ["the well known man", "yellow"]
    assert _figure([measure(text, case) for text, case in zip(heard, cases, strict=True)]) == pytest.approx(80.0)
    characters = _measure("icer", [])
    assert _figure([characters("今天天气", _case("今天 天气"))]) == pytest.approx(80.0)
    assert _figure([measure("a b c d", _case("x"))]) == 0.0
    assert isinstance(measure("a", _case("!!")), LeftOut)


def test_date_of_the_published_example() -> None:
    """D is 2/3, 1/3, 2/3 and DATE .6027 with the δ of long captions."""
    np.testing.assert_allclose(discrimination(PUBLISHED, DELTAS["long"]), [2 / 3, 1 / 3, 2 / 3])
    assert float(harmonic(PUBLISHED, DELTAS["long"]).mean()) == pytest.approx(0.6027, abs=5e-5)


@given(st.integers(1, 12), st.integers(0, 1000))
@examples(60)
def test_discrimination_against_a_count(clips: int, seed: int) -> None:
    """Pair by pair, as it is defined; at most 1 − 1/N, which a perfect matrix has."""
    rng = np.random.default_rng(seed)
    similarity = rng.uniform(0, 1, (clips, clips)).round(2)
    for place, found in enumerate(discrimination(similarity, 0.2)):
        own, row = similarity[place, place], similarity[place]
        rank = sum(1 for each in row if each > own + 0.1) + sum(1 for each in row if abs(each - own) <= 0.1)
        assert found == pytest.approx(1 - rank / clips)
        assert found <= 1 - 1 / clips + 1e-12
    np.testing.assert_allclose(discrimination(np.eye(clips), 0.2), 1 - 1 / clips)


def test_weights_of_word_pieces() -> None:
    """Orthogonal pieces: TF counts repetitions, IDF is that of scikit-learn, smoothed."""
    cat, dog, owl = np.eye(3)
    np.testing.assert_allclose(term_frequencies(np.stack([cat, cat, dog])), [2, 2, 1])
    texts = [np.stack([cat, cat, dog]), np.stack([cat]), np.stack([owl])]
    first, second, third = idf(texts)
    both, alone = np.log(4 / 3) + 1, np.log(4 / 2) + 1
    np.testing.assert_allclose(first, [both, both, alone])
    np.testing.assert_allclose(second, [both])
    np.testing.assert_allclose(third, [alone])


CAPTIONS = {
    "a": "a dog barks at a passing car", "b": "rain falls on a tin roof", "c": "two women talk in a kitchen",
}  # fmt: skip


def test_captions_are_compared_by_meaning() -> None:
    """The right captions beat those of other clips by far; a paraphrase lies between; no answer counts nothing."""
    cases = [_case(text, clip=clip) for clip, text in CAPTIONS.items()]
    fense = _measure("fense:minilm", cases)
    assert [round(fense(case.truth[0], case), 3) for case in cases] == [100.0] * 3
    near, far = fense("a barking dog and a vehicle", cases[0]), fense(CAPTIONS["b"], cases[0])
    assert far < near < 100
    assert fense("", cases[0]) is None
    turned = dict(zip(CAPTIONS, [*list(CAPTIONS.values())[1:], CAPTIONS["a"]], strict=True))
    right, wrong = (
        np.mean([_measure("date:minilm", cases, answers, domain="long")(answers[case.clip], case) for case in cases])
        for answers in (CAPTIONS, turned)
    )
    # the best possible is that of D = 2/3
    assert right == pytest.approx(80.0, abs=0.1)
    assert wrong < 30
    some = {**CAPTIONS, "b": " "}
    assert _measure("date:minilm", cases, some)(" ", cases[1]) is None
    assert _measure("date:minilm", cases, some)(some["a"], cases[0]) == pytest.approx(200 * 0.5 / 1.5, abs=0.1)


def _average_precision(truths: list[str], answers: list[str], classes: int = 0) -> tuple[float, ProbeScores]:
    """Score answers through the task's own probe; the figure comes from the numbers and ranks that it keeps."""
    written = {
        "task": "labels", "title": "Labels", "label": "answers", "categories": ["audio"], "prompt": "Which sounds?",
        "measure": {"name": "mAP", "classes": classes},
    }  # fmt: skip
    task = TaskFile.model_validate(written)
    prompt = PromptDefinition(name="labels", messages=(MessageTemplate(contents=(PartTemplate(type="audio"),)),))
    probe = probe_of(TaskDefinition(task=task, prompts={"default": prompt}))
    items = [Item(f"c{at}", "audio", answers=(truth,)) for at, truth in enumerate(truths)]
    given = {item.clip: answer for item, answer in zip(items, answers, strict=True)}
    scores = score(probe, ScoringInput("made", items, given, given))
    names = sorted({pair.right for pair in scores.pairs})
    evidence = Evidence(
        {name: np.array([scores.outcomes[item.clip].shared[name] for item in items]) for name in ("labels", "classes")},
        np.array([int(pair.left[1:]) for pair in scores.pairs]),
        np.array([names.index(pair.right) for pair in scores.pairs]),
        scores=np.array([pair.reference for pair in scores.pairs]),
    )
    assert not list(faults_of(scores))
    return float(mean_average_precision(evidence, np.ones((1, len(items))))[0]), scores


def faults_of(scores: ProbeScores) -> list[Fault]:
    """Return what cannot be true of kept numbers."""
    return [
        fault
        for of in scores.outcomes.values()
        for fault in labels(KeptClip(of.shared, of.reference, of.resynthesis, {}))
    ]


def test_mean_average_precision_has_the_published_examples() -> None:
    """Answers are divided at semicolons; a class without clips counts 0, and constant answers get the prevalence."""
    truths = ["a;b", "b", "c"]
    answers = ["a", "b;a", "c"]
    assert _average_precision(truths, answers)[0] == pytest.approx(77.78, abs=0.005)
    assert _average_precision(truths, answers, 4)[0] == pytest.approx(58.33, abs=0.005)
    assert _average_precision(truths, truths, 4)[0] == pytest.approx(75.0)
    assert _average_precision(truths, truths)[0] == pytest.approx(100.0)
    for constant in ("a;b;c", "", "a dog barks"):
        assert _average_precision(truths, [constant] * 3)[0] == pytest.approx(44.44, abs=0.005)
    spaced, kept = _average_precision(truths, ["A;b", "b", " c "])
    assert spaced == pytest.approx(100.0)
    assert _average_precision(truths, ["a; b", "b", "c"])[0] < spaced
    assert kept.outcomes["c0"].reference == {"given": 2.0, "hits": 2.0, "parsed": 1.0}
    assert _average_precision(["a.b", "b"], ["ab", "b"])[1].outcomes["c0"].reference["parsed"] == 0.0


@examples(25)
@given(st.lists(st.tuples(*[st.frozensets(st.sampled_from("abcd"), min_size=1)] * 2), min_size=1, max_size=12))
def test_mean_average_precision_is_that_of_scikit_learn(pairs: list[tuple[frozenset[str], frozenset[str]]]) -> None:
    """Over classes that some clip has, it is ``average_precision_score`` of vectors of 0 and 1."""
    from sklearn.metrics import average_precision_score

    names = sorted({name for truth, _ in pairs for name in truth})
    sides = list(zip(*pairs, strict=True))
    truth, given = (np.array([[name in own for name in names] for own in side], float) for side in sides)
    wanted = np.mean([average_precision_score(truth[:, at], given[:, at]) for at in range(len(names))])
    found, _ = _average_precision(*([";".join(sorted(own)) for own in side] for side in sides))
    assert found == pytest.approx(100 * wanted)
