"""Figures of kept numbers, and the limits of what can be kept: published packages are asked where there are some."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.probe import Field, KeptClip
from codec_superb.applications.task_definitions.definition import Use
from codec_superb.applications.understanding.cases import Case, Kept, Result
from codec_superb.applications.understanding.figures import bleu
from codec_superb.applications.understanding.kinds import KINDS
from codec_superb.applications.understanding.measures.instruction_kinds import INSTRUCTIONS, sentences
from codec_superb.applications.understanding.measures.table import MEASURES, made
from codec_superb.applications.understanding.scoring import numbers
from codec_superb.plugins import load

_ONE = st.lists(st.sampled_from("abcd"), min_size=1, max_size=9).map(" ".join)
_OR_NONE = st.just("") | _ONE


@examples(400)
@given(texts=st.lists(st.tuples(_OR_NONE, _ONE, _ONE), min_size=1, max_size=6))
def test_corpus_bleu_follows_from_the_counts(texts: list[tuple[str, str, str]]) -> None:
    """The figure of kept counts is sacreBLEU's of the texts, in any order of clips; a draw repeats clips."""
    from sacrebleu.metrics.bleu import BLEU

    cases = [Case(str(at), "en", refs) for at, (_, *two) in enumerate(texts) for refs in [tuple(two)]]
    measure = made(Use(name="bleu"), cases)
    results = [measure(text[0], case) for text, case in zip(texts, cases, strict=True)]
    kept = [numbers("bleu", (result, result), case)[1] for result, case in zip(results, cases, strict=True)]
    evidence = Evidence({name: np.array([one[name] for one in kept]) for name in kept[0]})
    draws = np.ones((2, len(texts)))
    draws[1, 0] = 3.0
    expected = [
        BLEU(force=True).corpus_score([text[0] for text in of], [[text[at] for text in of] for at in (1, 2)]).score
        for of in (texts, [texts[0]] * 2 + texts)
    ]
    assert bleu(evidence, draws) == pytest.approx(expected, abs=1e-9)


def test_sacrebleu_on_chinese() -> None:
    """53.73 for 今天天气很好 heard as 今天天气真好, as published; nothing to score is no number."""
    case = Case("a", "zh", ("今天天气很好",))
    result = made(Use(name="bleu", arguments={"tokenizer": "zh"}), [case])("今天天气真好", case)
    evidence = Evidence(
        {name: np.array([number]) for name, number in numbers("bleu", (result, result), case)[1].items()}
    )
    found = bleu(evidence, np.array([[1.0], [0.0]]))
    assert found[0] == pytest.approx(53.73, abs=0.005)
    assert np.isnan(found[1])


_CAPTIONS = [
    # answer, right answers, ROUGE-L of rouge-score 0.1.2, ROUGE-L and CIDEr of pycocoevalcap 1.2 on all of them
    ("barks", ("in barks while",), 50.0, 45.864662, 1.545263),
    ("rain while dog someone a the the", ("rain while in someone a the the",), 85.714286, 85.714286, 5.385182),
    ("talks dog someone birds", ("talks dog someone birds", "near"), 100.0, 100.0, 5.0),
    ("and", ("the", "rain car while and loudly barks", "dog rain a the talks"), 28.571429, 25.311203, 0.374946),
    ("and car the birds rain sing",
     ("and car the birds rain sing", "car in barks barks loudly and dog"), 100.0, 100.0, 5.47683),
    ("sing while birds",
     ("birds rain someone dog loudly", "rain car talks rain while sing while"), 40.0, 37.308869, 1.243721),
]  # fmt: skip


def test_captions_are_measured_as_by_the_published_packages() -> None:
    """ROUGE-L of rouge-score; ROUGE-L and CIDEr of the COCO captions' package."""
    cases = [Case(str(at), "en", refs) for at, (_, refs, *_) in enumerate(_CAPTIONS)]
    for column, name in enumerate(("rouge-l", "rouge-l:coco", "cider"), 2):
        measure = made(Use(name=name), cases)
        found = [measure(str(row[0]), case) for row, case in zip(_CAPTIONS, cases, strict=True)]
        assert found == pytest.approx([row[column] for row in _CAPTIONS], abs=1e-6)


_INSTRUCTIONS: list[tuple[str, dict[str, object], str, str]] = [
    ("keywords:existence", {"keywords": ["cat", "dog"]}, "A Cat and dogs", "cats only"),
    ("keywords:frequency", {"keyword": "cat", "frequency": 2, "relation": "at least"}, "cat cat", "cat"),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "a category", "a Cat!"),
    ("keywords:letter_frequency", {"letter": "e", "let_frequency": 2, "let_relation": "less than"}, "One", "Eele"),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"},
     "Hi. Dr. No?", "Dr. No costs 3.5."),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", "a\n\nb"),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "two words", "and three words"),
    ("length_constraints:nth_paragraph_first_word",
     {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Weekend"}, 'a b\n\n"weekend, b', "weekend\n\na"),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] at [place]", "[name]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye\nP. S. more", "Bye. Helps"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n- b", "* a\n**b**"),
    ("detectable_format:constrained_response", {}, "My answer is maybe.", "maybe"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* and **b**", "*a* and **"),
    ("detectable_format:multiple_sections", {"section_spliter": "Section", "num_sections": 2},
     "Section 1\na\nSection 2\nb", "Section 1"),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', "{a: 1}"),
    ("detectable_format:title", {}, "<<Song>>\nla", "<< >>\nla"),
    ("combination:two_responses", {}, "a******b", "a******a"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it"}, "say it\nIt.", "It. Say it"),
    ("startend:end_checker", {"end_phrase": "Is that all?"}, "Yes. is that all?", "Is that all? Yes."),
    ("startend:quotation", {}, '"all"', '"all" of it'),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"},
     "BIG NEWS", "BIG news"),
    ("change_case:english_capital", {}, "ALL 3", "All"),
    ("change_case:english_lowercase", {}, "all 3", "All"),
    ("punctuation:no_comma", {}, "all", "all,"),
]  # fmt: skip


def _kept(answer: str, *asked: tuple[str, dict[str, object]]) -> Result:
    names, given = ([of[at] for of in asked] for at in (0, 1))
    extra = {"instruction_id_list": json.dumps(names), "kwargs": json.dumps(given)}
    case = Case("a", "en", ("x",), extra=extra)
    return made(Use(name="ifeval"), [case])(answer, case)


@pytest.mark.parametrize(("name", "given", "keeps", "breaks"), _INSTRUCTIONS, ids=[row[0] for row in _INSTRUCTIONS])
def test_each_instruction_is_kept_and_broken(name: str, given: dict[str, object], keeps: str, breaks: str) -> None:
    """An answer that keeps it, and one that does not."""
    assert _kept(keeps, (name, given)) == Kept(1, 1, 1)
    assert _kept(breaks, (name, given)) == Kept(1, 0, 0)


def test_there_are_25_instructions() -> None:
    """All of the publication; the language of an answer is langdetect's, and tested where that is installed."""
    assert len(INSTRUCTIONS) == 25
    assert set(INSTRUCTIONS) == {row[0] for row in _INSTRUCTIONS} | {"language:response_language"}


def test_the_language_of_an_answer() -> None:
    """German is German and no English."""
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'codec-superb[languages]'")
    answer = "Das ist ein langer deutscher Satz über das Wetter."
    found = [_kept(answer, ("language:response_language", {"language": language})) for language in ("de", "en")]
    assert found == [Kept(1, 1, 1), Kept(1, 0, 0)]


def test_loose_takes_the_best_of_eight_forms() -> None:
    """Without the first line, or the asterisks, an instruction may be kept; an empty answer keeps none."""
    asked = ("change_case:english_lowercase", {}), ("startend:quotation", {})
    assert _kept('Sure:\n"all small"', *asked) == Kept(2, 0, 2)
    assert _kept("", ("punctuation:no_comma", {})) == Kept(1, 0, 0)
    assert [sentences(text) for text in ("", "One", "One. Two! Three?", "你好。再见。")] == [0, 1, 3, 2]


def _kept_clip(kind: str, shared: dict[str, float], side: dict[str, float], **change: float) -> KeptClip:
    fields = {field.name for field in KINDS[kind].sided}
    assert set(side) == fields
    assert set(shared) == {field.name for field in KINDS[kind].shared}
    return KeptClip(shared, side, {**side, **change}, {})


_TRUE: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "choice": ({"options": 4}, {"correct": 1, "parsed": 1, "same": 1}),
    "labels": ({"labels": 2, "classes": 4}, {"given": 3, "hits": 1, "parsed": 1}),
    "edits": ({"words": 5, "characters": 0}, {"substitutions": 1, "deletions": 2, "insertions": 9}),
    "bleu": ({}, {"match1": 2, "match2": 1, "match3": 0, "match4": 0, "total1": 3, "total2": 2, "total3": 1,
                  "total4": 0, "length": 3, "reference_length": 4}),
    "instructions": ({"asked": 3}, {"strict": 1, "loose": 2}),
    "value": ({}, {"value": 3, "parsed": 1}),
    "rating": ({}, {"rating": 3, "parsed": 1}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("choice", {"parsed": 0, "same": 0}), ("choice", {"correct": 0}), ("choice", {"correct": 0, "parsed": 0}),
        ("labels", {"hits": 3}), ("labels", {"given": 0}), ("labels", {"parsed": 0}),
        ("edits", {"deletions": 5}), ("bleu", {"match2": 3}), ("bleu", {"total4": 1}),
        ("bleu", {"reference_length": 0}),
        ("bleu", {"length": 2}), ("instructions", {"loose": 4}), ("instructions", {"strict": 3}),
        ("value", {"parsed": 0}), ("rating", {"parsed": 0}),
    ],
)  # fmt: skip
def test_forged_numbers_are_refused(kind: str, change: dict[str, float]) -> None:
    """Numbers that cannot be true together are a fault; those that can are none."""
    check = load(KINDS[kind].limits)
    shared, side = _TRUE[kind]
    assert not list(check(_kept_clip(kind, shared, side)))
    assert list(check(_kept_clip(kind, shared, side, **change)))


def test_both_units_cannot_be_counted() -> None:
    """A clip has words or characters."""
    shared, side = _TRUE["edits"]
    assert list(load(KINDS["edits"].limits)(_kept_clip("edits", {**shared, "characters": 5}, side)))


@examples(150)
@given(
    name=st.sampled_from(
        sorted({name for name, row in MEASURES.items() if not (row.judged or row.models)} - {"ifeval"})
    ),
    answers=st.tuples(*[st.text() | st.from_regex(r"[A-Da-d yesno.,()今]{0,20}")] * 2),
)
def test_what_measures_keep_is_possible(name: str, answers: tuple[str, str]) -> None:
    """No result of a measure is taken for a forgery, and each number lies within its field."""
    case = Case("navigate", "en", ("A", "yes"), ("yes", "no", "a cat"))
    row = MEASURES[name]
    results = [made(Use(name=name), [case], {case.clip: answer})(answer, case) for answer in answers]
    kept = numbers(row.kind, (results[0], results[1]), case)
    assert not list(load(KINDS[row.kind].limits)(KeptClip(*kept, {})))
    fields = {field.name: field for field in (*KINDS[row.kind].shared, *KINDS[row.kind].sided)}
    for key, number in [*kept[0].items(), *kept[1].items(), *kept[2].items()]:
        field: Field = fields[key]
        assert field.minimum <= number <= field.maximum
