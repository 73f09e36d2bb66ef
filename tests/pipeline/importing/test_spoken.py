"""Texts that a program speaks become a dataset: what is there is kept, failures are told, nothing goes by a shell."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from support.datasets.parquet_tables import write_table

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.errors import ManifestError
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing import spoken
from codec_superb.pipeline.importing.spoken import Spoken, speak_dataset

SPEAKER = """
import pathlib, sys
import numpy as np, soundfile
text, out, log = sys.argv[1:4]
text = text or sys.stdin.read()
with open(log, "a") as file:
    file.write(text + "\\n")
if "refuse" in text:
    sys.exit("no voice says " + text)
if "silent" not in text:
    soundfile.write(out, np.full(80 * len(text), 0.1), 8000)
"""
TEXTS = {"a": "one; touch hacked", "b": "zwei $(touch hacked) {out} {text}", "größe": "three 'quoted'", "d": ""}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Make a folder of four clips, one without a text."""
    folder = tmp_path / "data"
    folder.mkdir()
    rows = []
    for name, text in TEXTS.items():
        soundfile.write(folder / f"{name}.wav", np.zeros(800), 8000)
        rows.append([f"{name}.wav", text, "en" if text else ""])
    write_labels(folder, rows)
    (tmp_path / "speaker.py").write_text(SPEAKER)
    return folder


def write_labels(folder: Path, rows: list[list[str]]) -> None:
    """Write the labels of a folder."""
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path", "text", "language", "style"], *([*row, row[0]] for row in rows)])


def speak(data: Path, *, text: str = "{text}", **more: Any) -> Spoken:
    """Let the script speak into a folder beside the data."""
    script, log = data.parent / "speaker.py", data.parent / "said.log"
    command = f"'{sys.executable}' '{script}' '{text}' {{out}} '{log}'"
    return speak_dataset(str(data), data.parent / "out", command, **more)


def log_of(data: Path) -> list[str]:
    """Return what was said, in order."""
    return (data.parent / "said.log").read_text().splitlines()


@pytest.mark.parametrize("text", ["{text}", ""])
@pytest.mark.sample(3, among="programs that speak")
def test_what_is_spoken_is_a_dataset(data: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Each text reaches the program as it is, as an argument or by standard input, and labels its recording."""
    monkeypatch.chdir(data.parent)
    done = speak(data, text=text)
    assert (done.clips, done.done, done.left_out, done.failed) == (3, 3, 1, [])
    assert not (data.parent / "hacked").exists()
    assert sorted(log_of(data)) == sorted(filter(None, TEXTS.values()))
    made = open_dataset(str(done.folder))
    clips = [made.clip(clip) for clip in made.clip_ids()]
    assert {dict(of.labels.extra)["source"].removesuffix(".wav"): of.labels.text for of in clips} == {
        name: spoken for name, spoken in TEXTS.items() if spoken
    }
    assert all(dict(of.labels.extra)["style"] == dict(of.labels.extra)["source"] for of in clips)
    assert {of.load()[0].shape[1] for of in clips} == {80 * len(spoken) for spoken in TEXTS.values() if spoken}
    told = json.loads((done.folder / spoken.MAKER).read_text())
    assert (told["dataset"], told["label"], told["command"][0]) == ("data", "text", sys.executable)


@pytest.mark.sample(3, among="programs that speak")
def test_nothing_is_spoken_twice(data: Path) -> None:
    """Another call goes on: a lost file is made again, and what was said stays; another command is refused."""
    speak(data, limit=2)
    first = log_of(data)
    done = speak(data)
    assert (done.clips, done.done) == (3, 3 - len(first))
    (done.folder / "a.wav").unlink()
    assert speak(data).done == 1
    assert log_of(data).count(TEXTS["a"]) == 2
    assert len(log_of(data)) == 4
    with pytest.raises(PipelineError, match=r"was made by .*: name another folder"):
        speak(data, text="")


@pytest.mark.sample(3, among="programs that speak")
def test_what_a_program_does_not_say_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, no sound and a text that takes too long cost their clip; another call tries again."""
    rows = [
        ["a.wav", "please refuse", "en"],
        ["b.wav", "be silent", "en"],
        ["größe.wav", "said", "en"],
        ["d.wav", "", ""],
    ]
    write_labels(data, rows)
    done = speak(data)
    assert {clip.removesuffix(".wav"): reason for clip, _, reason in done.failed} == {
        "a": "the program ended with 1: no voice says please refuse",
        "b": "the program ended well and wrote no sound",
    }
    assert sorted(path.name for path in done.folder.glob("*.wav")) == ["größe.wav"]
    monkeypatch.setattr(spoken, "SECONDS", 0.01)
    assert {reason for *_, reason in speak(data).failed} == {"the program took more than 0.01 s"}


@pytest.mark.sample(3, among="programs that speak")
def test_a_table_of_texts_is_spoken(data: Path) -> None:
    """Texts without sound, CSV or Parquet, are spoken in the language that is given, or their own."""
    table = data.parent / "texts.csv"
    table.write_text("text,language,text_norm\none,en,ONE\ntwo,,TWO\n")
    speak(table, language="de")
    out = open_dataset(data.parent / "out")
    assert [(out.clip(clip).labels.text, out.clip(clip).labels.language) for clip in out.clip_ids()] == [
        ("one", "de"),
        ("two", "de"),
    ]
    assert dict(out.clip("1.wav").labels.extra)["text_norm"] == "ONE"
    shutil.rmtree(data.parent / "out")
    rows = [{"id": "a/b", "text": "one", "language": "fr", "audio": b"x"}, {"id": "c", "text": "two", "language": None}]
    assert speak(write_table(data.parent / "texts.parquet", rows)).clips == 2
    out = open_dataset(data.parent / "out")
    assert {clip: out.clip(clip).labels.language for clip in out.clip_ids()} == {"a/b.wav": "fr", "c.wav": None}


@pytest.mark.sample(3, among="programs that speak")
def test_ids_of_a_table_may_begin_with_0(data: Path) -> None:
    """Number 0 is an id; a row without one has its own number."""
    rows = [{"id": number, "text": text} for number, text in ((0, "one"), (1, "two"), (None, "three"))]
    speak(write_table(data.parent / "texts.parquet", rows))
    assert list(open_dataset(data.parent / "out").clip_ids()) == ["0.wav", "1.wav", "3.wav"]


def test_a_text_of_another_language_says_so(data: Path) -> None:
    """``extra:target_text`` is spoken in ``extra:target_language``."""
    with (data / "labels.csv").open("w", newline="") as file:
        rows = [["path", "language", "target_text", "target_language"], ["a.wav", "zh", "one", "en"]]
        csv.writer(file).writerows(rows)
    speak(data, label="extra:target_text")
    out = open_dataset(data.parent / "out")
    assert [(out.clip(clip).labels.text, out.clip(clip).labels.language) for clip in out.clip_ids()] == [("one", "en")]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", "id,words\n1,one\n", "x.csv line 1: expected a column text, got id, words"),
        ("x.csv", "id,text\n1,one\n1,two\n", "x.csv line 3: expected another id, got '1' twice"),
        ("x.parquet", "no", "cannot read"),
        ("none.parquet", None, "cannot read"),
    ],
)
def test_a_table_that_is_none_is_named(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    """The file, the line and what was expected."""
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ManifestError, match=said):
        speak_dataset(str(tmp_path / name), tmp_path / "out", "speak {text} {out}")


def test_texts_have_no_voice_to_clone(tmp_path: Path) -> None:
    """A command that wants a recording cannot be given texts alone."""
    with pytest.raises(PipelineError, match=r"expected a command without \{sound\}"):
        speak_dataset(str(tmp_path / "x.csv"), tmp_path / "out", "clone {sound} {text} {out}")


@pytest.mark.parametrize(
    ("command", "label", "said"),
    [
        ("speak {text}", "text", r"expected \{out\} in the command"),
        ("speak 'open {out}", "text", "expected a command, got"),
        ("/nowhere/speak {text} {out}", "text", "there is no program '/nowhere/speak'"),
        ("speak {text} {out}", "extra:answer", "expected clips with the label extra:answer, got none of 4"),
        ("speak {text} {out}", "speaker", "expected the label text, question or extra:NAME, got 'speaker'"),
    ],
)
def test_wrong_calls_are_one_sentence(data: Path, command: str, label: str, said: str) -> None:
    """What was expected is named before anything is made."""
    with pytest.raises(PipelineError, match=said):
        speak_dataset(str(data), data.parent / "out", command, label=label)


def test_a_real_synthesiser(data: Path) -> None:
    """Flite, where it is installed, says a text in more time than a word takes."""
    if shutil.which("flite") is None:
        pytest.skip("flite is not installed; Debian: flite")
    write_labels(data, [["a.wav", "the quick brown fox jumps over the lazy dog", "en"]])
    done = speak_dataset(str(data), data.parent / "out", "flite -voice slt -t {text} -o {out}")
    (recording,) = done.folder.glob("*.wav")
    assert 1.5 < soundfile.info(recording).duration < 6
