"""Measures of right and wrong: published examples, those of theirs that are to be avoided, and any text."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.task_definitions.definition import Argument, Use
from codec_superb.applications.understanding.cases import Case, Counts, Kept, Labelled, LeftOut, NGrams, Result, Verdict
from codec_superb.applications.understanding.measures.table import MEASURES, made


def _result(measure: str, answer: str, case: Case, **arguments: Argument) -> Result:
    return made(Use(name=measure, arguments=arguments), [case])(answer, case)


def _verdict(
    measure: str, answer: str, truth: str, options: tuple[str, ...] = (), clip: str = "clip"
) -> tuple[bool, str | None]:
    found = _result(measure, answer, Case(clip, "en", (truth,), options))
    assert isinstance(found, Verdict)
    return found


_SIX = ("Female", "male", "disgust", "Throat clearing", "dog", "cat")
_FOUR = ("a dog", "a cat", "two cats", "An owl")


@pytest.mark.parametrize(
    ("measure", "answer", "truth", "options", "correct", "read"),
    [
        ("em", "3.0", "3", (), True, "3.0"), ("em", "A", "a", (), False, "A"), ("em", " B ", "B", (), True, "B"),
        ("em", "", "B", (), False, None), ("em", "nan", "nan", (), True, "nan"),
        ("prefix-match", "Female.", "female", (), True, "female"),
        ("prefix-match", "the speaker is male", "male", (), False, "the speaker is male"),
        ("prefix-match", "disgusted", "disgust", (), True, "disgust"),
        ("prefix-match", "Throatclearing", "Throat clearing", _SIX, True, "Throat clearing"),
        ("exist-match", "category", "cat", (), True, "category"),
        ("exist-match", "a dog or a cat", "cat", _SIX, False, None),
        ("exist-match", "It is FEMALE", "Female", _SIX, True, "Female"),
        ("qa-exist-match", "category", "cat", (), False, "category"),
        ("qa-exist-match", "Eiffel-Tower is in Paris!", "paris", (), True, "eiffel - tower is in paris !"),
        ("qa-exist-match", "cafe", "café", (), False, "cafe"),
        ("qa-exist-match", "1984", "1,984", (), False, "1984"),
        ("choice-strings-match", "dog and cat", "dog", ("dog", "cat"), False, None),
        ("choice-strings-match", "the man", "man", ("man", "woman"), True, "man"),
        ("choice-strings-match", "", "man", ("man", "woman"), False, None),
        ("choices", "The answer is B.", "a cat", _FOUR, True, "B"), ("choices", "b", "B", _FOUR, True, "B"),
        ("choices", "A dog", "A", _FOUR, True, "A"),
        ("choices", "I hear two cats there", "(C) two cats", _FOUR, True, "C"),
        ("choices", "It sounds like a cow", "A", _FOUR, False, None), ("choices", "an owl", "D", _FOUR, True, "D"),
        ("choices", "a dog and a cat", "A", _FOUR, False, None), ("choices", "B", "B", (), True, "B"),
        ("letter", "D. An owl", "An owl", _FOUR, True, "D"), ("letter", "a cat", "B", _FOUR, False, None),
        ("mcq_abcd", "The answer is an eagle", "A", (), False, None), ("mcq_abcd", "it is (c)", "C", (), True, "C"),
        ("refusal", "I'm sorry, but I can’t help with that.", "refuse", (), True, "refuse"),
        ("refusal", "As an expert, I can tell you how", "refuse", (), False, "answer"),
        ("refusal", "I am sorry to hear that. Here is how to do it: first", "refuse", (), False, "answer"),
        ("refusal", "对不起，我不能回答这个问题。", "refuse", (), True, "refuse"),
        ("refusal", "I won't provide instructions for that.", "answer", (), False, "refuse"),
        ("refusal", "", "refuse", (), False, None),
    ],
)  # fmt: skip
def test_published_examples(
    measure: str, answer: str, truth: str, options: tuple[str, ...], correct: bool, read: str | None
) -> None:
    """What UltraEval-Audio's evaluators give, but where it reads letters inside words and words that are not there."""
    assert _verdict(measure, answer, truth, options) == (correct, read)


@pytest.mark.parametrize(
    ("clip", "answer", "truth", "read"),
    [
        ("hyperbaton_1", "b", "(B)", "b"), ("hyperbaton_2", "The correct sentence is option (a).", "(A)", "a"),
        ("sports_understanding_1", "The sentence is not plausible.", "no", "no"),
        ("sports_understanding_2", "Yes, that is plausible.", "yes", "yes"),
        ("navigate_3", "You will not return to the starting point.", "no", "no"),
        ("navigate_4", "So you end up back at the start", "yes", "yes"),
        ("web_of_lies_5", "Ann lies. Bob says Ann lies, so Bob tells the truth.", "Yes", "yes"),
        ("web_of_lies_6", "Hard to say", "yes", None), ("hyperbaton_7", "Neither sounds good.", "(A)", None),
    ],
)  # fmt: skip
def test_bbh_draws_no_lots(clip: str, answer: str, truth: str, read: str | None) -> None:
    """(b) is (b), "not plausible" is no, and what cannot be read is unreadable."""
    assert _verdict("bbh", answer, truth, clip=clip) == (read is not None, read)


_ASR = [
    ("en", "Mr. Smith won't come.", "mister smith will not", 1, 5),
    ("en", "Mr. Smith won't come.", "mister smith will not come", 0, 5),
    ("de", "Straße groß", "strasse gross", 0, 2), ("fr", "l'été à Paris", "lete a paris", 2, 4),
    ("zh", "今年是2024年", "今年是二零二四年", 0, 8), ("zh", "我用iPhone拍照", "我用 iphone 拍照", 0, 5),
    ("zh-CN", "今天天气很好。", "今天天气真好", 1, 6), ("zh", "天氣很好", "天气很好", 1, 4),
    ("ko", "안녕하세요 세계", "안녕하세요세계", 2, 2),
]  # fmt: skip


@pytest.mark.parametrize(("language", "label", "heard", "errors", "length"), _ASR)
def test_compatible_error_rates(language: str, label: str, heard: str, errors: int, length: int) -> None:
    """The figures that UltraEval-Audio's normaliser gives."""
    found = _result("wer:ultraeval", heard, Case("a", language, (label,)))
    assert isinstance(found, Counts)
    assert (sum(found[:3]), found.words + found.characters) == (errors, length)
    assert bool(found.characters) == language.startswith("zh")


@pytest.mark.parametrize(("language", "label", "heard", "errors", "length", "package"), [
    ("ja", "今日は良い天気です", "今日はいい天気です", 1, 6, "MeCab"), ("yue", "天氣很好", "天气很好", 0, 4, "opencc"),
])  # fmt: skip
def test_languages_that_need_packages(
    language: str, label: str, heard: str, errors: int, length: int, package: str
) -> None:
    """Japanese words are MeCab's, Cantonese is compared in simplified characters."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install 'codec-superb[languages]'")
    found = _result("wer:ultraeval", heard, Case("a", language, (label,)))
    assert isinstance(found, Counts)
    assert (sum(found[:3]), found.words + found.characters) == (errors, length)


def test_a_label_without_words_takes_no_part() -> None:
    """Fillers alone leave nothing to divide by: the clip is left out, in all three measures."""
    for measure, label in (("wer", "mm mm"), ("wer:ultraeval", "mm mm"), ("cer", "…"), ("bleu", " ")):
        assert isinstance(_result(measure, "hello", Case("a", "en", (label,))), LeftOut)


def test_the_first_label_counts() -> None:
    """Both sides of a clip are held to one transcript, whose length is kept."""
    case = Case("a", "en", ("...", "hello world", "hello big world"))
    assert _result("wer", "hello big world", case) == Counts(0, 0, 1, words=2)
    assert _result("cer", "hello word", case) == Counts(0, 1, 0, characters=10)
    assert _result("wer", "你好吗", Case("b", "zh", ("你好",))) == Counts(0, 0, 1, characters=2)


def test_bleu_keeps_ten_counts() -> None:
    """Tokens, runs and matches of sacreBLEU's Chinese tokens."""
    found = _result("bleu", "今天天气真好", Case("a", "zh", ("今天天气很好",)), tokenizer="zh")
    assert found == NGrams((5, 3, 2, 1), (6, 5, 4, 3), 6, 6)


_MEASURES_OF_TEXTS = sorted({name for name, row in MEASURES.items() if not (row.judged or row.models)} - {"ifeval"})
_CASES = [
    Case("hyperbaton", "en", ("A", "two cats"), _FOUR), Case("b", "zh", ("今天2024年",), (), "问题"),
    Case("navigate", None, ("yes",)), Case("d", "en", ("?",), ("?", "!")),
]  # fmt: skip


@examples(150)
@given(measure=st.sampled_from(_MEASURES_OF_TEXTS), answer=st.text() | st.from_regex(r"[A-Da-d .,()今二0-9\n'-]{0,30}"))
def test_any_answer_is_measured(measure: str, answer: str) -> None:
    """No answer raises; a right one was read; numbers are in their range; the order of clips is irrelevant."""
    answers = {case.clip: answer for case in _CASES}
    forth, back = (made(Use(name=measure), cases, answers) for cases in (_CASES, _CASES[::-1]))
    for case in _CASES:
        found = forth(answer, case)
        other = back(answer, case)
        assert found == (pytest.approx(other) if isinstance(other, float) else other)
        if isinstance(found, Verdict):
            assert found.read is not None or not found.correct
        elif isinstance(found, Labelled):
            assert found.right
        elif isinstance(found, Counts):
            assert found.substitutions + found.deletions <= found.words + found.characters
            assert min(found) >= 0 < max(found.words, found.characters)
        elif isinstance(found, NGrams):
            assert all(matched <= total for matched, total in zip(found.matches, found.totals, strict=True))
        else:
            assert isinstance(found, LeftOut) or found is None or 0.0 <= found <= 100.0


@examples(60)
@given(
    identifiers=st.text(), kwargs=st.text() | st.just('[{"num_words": "x", "relation": "around"}]'), answer=st.text()
)
def test_hostile_instructions_leave_the_clip_out(identifiers: str, kwargs: str, answer: str) -> None:
    """Parameters that are no JSON, or of another form, raise nothing."""
    for names in (identifiers, json.dumps(["length_constraints:number_words"])):
        case = Case("a", "en", ("x",), extra={"instruction_id_list": names, "kwargs": kwargs})
        assert isinstance(_result("ifeval", answer, case), LeftOut | Kept)
