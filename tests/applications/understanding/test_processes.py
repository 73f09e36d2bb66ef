"""Post-processors: known answers of UltraEval-Audio, and those of its answers that are to be avoided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.task_definitions.definition import Argument, Use
from codec_superb.applications.understanding.processes.table import PROCESSES, processed

_ARGUMENTS: dict[str, dict[str, Argument]] = {
    "cut_at": {"texts": ("<end>", "\n\n")}, "after_text": {"text": "Answer:"}, "eliminate": {"texts": "um,"},
    "phrase": {"phrases": ("cough", "throat clearing", "咳嗽")}, "field": {"key": "label", "default": "none"},
}  # fmt: skip


def _processed(name: str, answer: str, **arguments: Argument) -> str:
    return processed(answer, [Use(name=name, arguments={**_ARGUMENTS.get(name, {}), **arguments})])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("答案是C。", "C"), ("(c)", "C"), ("选A还是B？答案选B", "B"), ("B. Paris", "B"), ("苹果", ""),
        # to be avoided: letters inside words, the article
        ("I do not know", ""), ("The capital is Paris", ""), ("Zürich", ""), ("A dog", ""), ("answer is an eagle", ""),
        ("The answer is not A. It is C.", "C"), ("The answer is a dog", ""), ("I like A and B", ""),
        (r"The correct answer is \boxed{D}", "D"), ("**B**", "B"), ("b", "B"), ("Answer: C) twelve", "C"), ("", ""),
    ],
)  # fmt: skip
def test_an_option_is_what_the_answer_states(answer: str, expected: str) -> None:
    """The letter that is stated counts, none inside a word; nothing is taken for granted but by `default`."""
    assert _processed("first_option", answer) == expected
    assert _processed("first_option", answer, default="A") == (expected or "A")


def test_options_may_be_other_letters() -> None:
    """Letters beyond the options are none."""
    assert _processed("first_option", "The answer is E.") == ""
    assert _processed("first_option", "The answer is E.", options="ABCDE") == "E"


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("json_content", '```json\n{"content": "a cat"}\n```', "a cat"), ("json_content", "{'content': 'x'}", "x"),
        ("json_content", "a cat", "a cat"), ("json_content", '{"content": ', '{"content": '),
        ("json_content", '{"text": 1}', '{"text": 1}'), ("json_content", "[1]", "[1]"),
        ("extract_text", '{"audio": "a.wav", "text": "hello"}', "hello"), ("extract_text", "hello", "hello"),
        ("extract_audio", '{"audio": "a.wav", "text": "hello"}', "a.wav"),
        ("field", '{"label": 3}', "3"), ("field", '{"other": 3}', "none"), ("field", "plain", "plain"),
        ("strip_tags", "<|en|><|transcribe|> Hello ,  world <|end|> !", "Hello, world!"),
        ("cut_at", "yes<end>no", "yes"), ("cut_at", "yes\n\nno<end>", "yes"), ("cut_at", "yes", "yes"),
        ("after_text", "Thought. Answer: B", "B"), ("after_text", "B", "B"), ("eliminate", "um, a um, cat", "a  cat"),
        ("phrase", "This is a Throat  clearing sound", "throat clearing"), ("phrase", "coughing", ""),
        ("phrase", "cough or throat clearing", ""), ("phrase", "是咳嗽声", "咳嗽"),
        ("yes_no", "Yes, it is.", "yes"), ("yes_no", "I think the answer is: no", "no"), ("yes_no", "是的。", "yes"),
        ("yes_no", "不是", "no"), ("yes_no", "Nothing", ""), ("yes_no", "Note that there is no way to know", ""),
        ("yes_no", "yesterday", ""), ("lower", "ÄB", "äb"), ("strip_punctuation", "Don't, stop! 好。", "Don't stop 好"),
        ("text_normalizer", "Hello, World!", "hello world"),
        ("en_text_normalizer", "Mr. Smith won't", "mister smith will not"),
        ("first_line", "\n a \nb", "a"),
    ],
)  # fmt: skip
def test_known_answers(name: str, answer: str, expected: str) -> None:
    """Each does what its row says; an answer that it does not know passes unchanged."""
    assert _processed(name, answer) == expected


def test_chinese_tags_leave_no_space() -> None:
    """The Chinese form takes out all spaces."""
    assert _processed("strip_tags", "<|zh|> 今天 天气", spaces="none") == "今天天气"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("2024年3月5日", "二零二四年三月五日"), ("35.5元", "三十五点五元"), ("13800138000", "一三八零零一三八零零零"),
        ("3/4", "四分之三"), ("3.05%", "百分之三点零五"), ("1010", "一零一零"), ("1002年3月", "一千零二年三月"),
        ("30000元", "三万元"), ("4720298元", "四百七十二万零二百九十八元"), ("28205元", "两万八千两百零五元"),
        ("010-12345678", "零一零一二三四五六七八"), ("24年", "二十四年"), ("95年", "九五年"), ("-5度", "五度"),
        ("好，我用iPhone。", "好 我用iPhone"), ("10", "十"), ("0.5", "零点五"), ("12个", "十二个"),
    ],
)  # fmt: skip
def test_chinese_numbers_are_written_out(written: str, said: str) -> None:
    """As the published normaliser writes them, on its own outputs."""
    assert _processed("zh_text_normalizer", written) == said


@examples(200)
@given(name=st.sampled_from(sorted(PROCESSES)), answer=st.text() | st.from_regex(r"[\[{(\"'`:,.\w\s*|<>-]{0,40}"))
def test_any_text_passes(name: str, answer: str) -> None:
    """No answer raises, and the same answer is processed alike."""
    assert _processed(name, answer) == _processed(name, answer)
