"""MSEB's result files: what is read, what is refused in one sentence, and that what is written is read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.profile import examples

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.mseb.result_json import (
    FILE_LIMIT,
    LARGEST,
    LINE_LIMIT,
    MsebResult,
    MsebScore,
    read_files,
    read_lines,
    rows_of,
    write_lines,
)

LINE = (
    '{"name": "whisper", "sub_task_name": "speech_transcription", "task_metadata": {"name":'
    ' "SVQEnUsSpeechTranscription", "description": "d", "reference": "TODO", "type": "SpeechTranscription", "category":'
    ' "speech", "main_score": "WER", "revision": "1.0.0", "dataset": {"path": "p", "revision": "1.0.0", "name": "SVQ",'
    ' "documentation_file": null}, "scores": [{"metric": "WER", "description": "", "value": 0.0, "min": 0, "max":'
    ' Infinity, "std": null}], "eval_splits": ["test"], "eval_langs": ["en-US"], "domains": ["speech"],'
    ' "task_subtypes": ["transcription"], "documentation_file": null, "dataset_documentation_file": null},'
    ' "scores": [{"metric": "WER", "description": "", "value": 1.1018, "min": 0, "max": Infinity, "std": 0.5},'
    ' {"metric": "SER", "description": "", "value": 0.26, "min": 0, "max": 1},'
    ' {"metric": "flops", "description": "", "value": 0.0, "min": 0, "max": Infinity, "std": null}],'
    ' "url": "https://example.org", "base_model": null, "prompt": null}'
)
"""In MSEB's own form, its Infinity included."""


def data() -> dict[str, Any]:
    """Give the line as data; the bounds are numbers that strict JSON can hold."""
    found: dict[str, Any] = json.loads(LINE.replace("Infinity", "null"))
    return found


def test_a_line_of_msebs_own_form() -> None:
    """Infinity is no bound, an error rate above 1 stays, what was not measured makes no row."""
    (result,) = read_lines(f"{LINE}\n\n".encode(), "x.jsonl")
    assert result.scores[0].max is None
    assert [(row.encoder, row.task, row.lang, row.metric, row.value, row.std) for row in rows_of("folder", result)] == [
        ("folder", "SVQEnUsSpeechTranscription", "en-US", "WER", 1.1018, 0.5),
        ("folder", "SVQEnUsSpeechTranscription", "en-US", "SER", 0.26, None),
    ]
    written = write_lines([result]).decode()
    assert "Infinity" not in written
    assert json.loads(written)["scores"][0]["max"] is None
    assert read_lines(written.encode(), "again") == [result]


def test_files_and_folders(tmp_path: Path) -> None:
    """The encoder is the name of the folder; a folder stands for all files below it, by name."""
    for place in ("b/T2.jsonl", "a/T1.jsonl"):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text(LINE, encoding="utf-8")
    (tmp_path / "a" / "notes.txt").write_text("no result", encoding="utf-8")
    assert [encoder for encoder, _ in read_files([tmp_path])] == ["a", "b"]
    assert [encoder for encoder, _ in read_files([tmp_path / "b" / "T2.jsonl"])] == ["b"]


def _set(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        *before, last = path.split(".")
        place: Any = found
        for part in before:
            place = place[int(part)] if part.isdigit() else place[part]
        if value is ...:
            del place[last]
        else:
            place[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("scores.0.value", "0.5", "scores.0.value: input should be a valid number, got '0.5'"),
        ("scores.0.value", True, "scores.0.value"),
        ("scores.0.value", None, "scores.0.value"),
        ("scores.0.value", 1e308, "scores.0.value: input should be less than or equal to"),
        ("scores.0.value", -0.1, "outside its bounds"),
        ("scores.1.value", 1.5, "SER = 1.5 outside its bounds 0 to 1"),
        ("scores.1.min", 2, "a lower bound 2 above the upper bound 1 of SER"),
        ("scores.0.std", -1.0, "scores.0.std"),
        ("scores.1.metric", "WER", "the metric 'WER' 2 times"),
        ("scores.1.metric", "", "scores.1.metric"),
        ("scores", [], "scores"),
        ("scores", {}, "scores"),
        ("name", ..., "expected the field 'name', which is missing"),
        ("name", 3, "name: input should be a valid string, got 3"),
        ("count", 7, "got 'count', which is none of them"),
        ("task_metadata.dataset.size", 7, "'task_metadata.dataset.size'"),
        ("task_metadata.eval_langs", [], "task_metadata.eval_langs"),
        ("task_metadata", None, "task_metadata"),
        ("tags", "oracle", "tags"),
    ],
)
def test_what_is_wrong_with_a_line_is_one_sentence(path: str, value: object, says: str) -> None:
    """It names file, line and field, and quotes what came."""
    found = data()
    _set(path, value)(found)
    with pytest.raises(ApplicationError) as error:
        read_lines(json.dumps(found).encode(), "folder/T.jsonl")
    text = str(error.value)
    assert text.startswith("folder/T.jsonl, line 1")
    assert says in text
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "got an empty file"),
        (b"\n \n", "got an empty file"),
        (b"\xff{}", "expected UTF-8 text, got byte 0xff"),
        (b"[]", "line 1"),
        (b"null", "line 1"),
        (b"{", "line 1: expected JSON: Expecting property name"),
        (b'{"a": 1, "a": 2}', "each name once in an object, got 'a' twice"),
        (b'{"name": NaN}', "got the word NaN"),
        (b'{"name": -Infinity}', "the word -Infinity"),
        (b'{"name": 1e999}', "finite numbers only, got 1e999"),
        (b"[" * 100_000, "levels of nesting"),
        (LINE.replace("1.1018", "Infinity").encode(), "scores.0.value"),
        (LINE.replace('"min": 0', '"min": Infinity').encode(), "scores.0.min"),
        (f"{LINE}\n{LINE}".encode(), "expected each sub-task once"),
        (f"{LINE}\nx".encode(), "line 2"),
        (b'"' + b"x" * LINE_LIMIT + b'"', "expected at most 1,000,000 characters"),
        (b" " * (FILE_LIMIT + 1), "expected at most 50,000,000 bytes"),
    ],
)
def test_hostile_files_are_refused(content: bytes, says: str) -> None:
    """No traceback of a parser, and nothing read by halves."""
    with pytest.raises(ApplicationError, match=r"x\.jsonl") as error:
        read_lines(content, "x.jsonl")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_places_without_files_are_named(tmp_path: Path) -> None:
    """A folder without results, and a path that is not there."""
    with pytest.raises(ApplicationError, match=r"expected files <encoder>/<task>.jsonl"):
        list(read_files([tmp_path]))
    with pytest.raises(ApplicationError, match="cannot be read: No such file"):
        list(read_files([tmp_path / "missing.jsonl"]))


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.floats(-LARGEST, LARGEST)
TEXTS = st.text(max_size=20)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20)


@st.composite
def scores(draw: st.DrawFn) -> list[MsebScore]:
    """Draw scores of different metrics, some without bounds."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    found = []
    for name in names:
        low, value, high = sorted(draw(st.tuples(VALUES, VALUES, VALUES)))
        ends = (draw(st.sampled_from((low, None))), draw(st.sampled_from((high, None))))
        std = draw(st.none() | st.floats(0, 1e300))
        found.append(MsebScore(metric=name, description=draw(TEXTS), value=value, min=ends[0], max=ends[1], std=std))
    return found


@examples(60)
@given(
    st.lists(scores(), min_size=1, max_size=3), TEXTS, st.dictionaries(TEXTS, NUMBERS | TEXTS | st.none(), max_size=3)
)
def test_what_is_written_is_read_back(drawn: list[list[MsebScore]], prompt: str, more: dict[str, Any]) -> None:
    """Every number to its last digit, and every text, whatever letters it has."""
    base = read_lines(LINE.encode(), "x")[0]
    results = [
        base.model_copy(
            update={"sub_task_name": f"part {at}", "scores": each, "prompt": prompt, "task_specific_data": more}
        )
        for at, each in enumerate(drawn)
    ]
    assert read_lines(write_lines(results), "x") == results


NAMES = st.sampled_from([*MsebResult.model_fields, "metric", "value"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


@examples(100)
@given(ANYTHING)
def test_any_json_is_read_or_refused(found: object) -> None:
    """Nothing but the error of the package comes out."""
    with pytest.raises(ApplicationError):
        read_lines(json.dumps(found).encode(), "x")


@pytest.mark.parametrize("name", ["a\u0000b", "a\nb", "a\u001b[31m", "\u2028"])
def test_a_name_with_control_characters_is_refused(name: str) -> None:
    """It would go into tables, file names and a database that takes no NUL."""
    with pytest.raises(ValidationError):
        MsebScore(metric=name, description="", value=1.0)
