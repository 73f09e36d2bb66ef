"""Questions that leave this program and answers that come back give the rows that the same chat gives here."""

from __future__ import annotations

import base64
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import soundfile
from support.applications.model_server import Asked, ModelServer, ok
from support.audio import speech_like

from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.applications.understanding.chats.answers_file import AnswersFile
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.questions import FILE, write_questions
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder

CODECS = ("g711_alaw", "g711_mulaw")
TASK = """
task: dog_or_cat
title: Dog or cat
label: events
classes: [dog, cat]
categories: [audio]
prompt: "Dog or cat?"
measure: prefix-match
"""


def heard(rate: int, samples: int) -> str:
    """Answer by the length of a sound, which survives every road."""
    return "dog" if samples * 16_000 // rate % 3 else "cat"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Resynthesise four clips, one with an id beyond ASCII; tests work on copies."""
    place = tmp_path_factory.mktemp("plain")
    data = place / "data"
    data.mkdir()
    names = ["c0.wav", "c1.wav", "größe 2.wav", "c3.wav"]
    for number, name in enumerate(names):
        soundfile.write(data / name, speech_like(0.3 + number / 50, 16_000, seed=number), 16_000)
    rows = [f"{name},{'dog' if number % 2 else 'cat'},audio" for number, name in enumerate(names)]
    (data / "labels.csv").write_text("\n".join(["path,events,category", *rows]) + "\n")
    (place / "task.yaml").write_text(TASK)
    resynthesise(CODECS, [str(data)], out=place / "runs", workers=1)
    return place


def asked_elsewhere(place: Path, **more: Any) -> list[dict[str, Any]]:
    """Write the questions, and answer them as a stranger's program does: it reads the lines and the files beside."""
    folder = place / "questions"
    write_questions([place / "runs"], folder, applications=[], tasks=[place / "task.yaml"])
    lines = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    for line in lines:
        sound, rate = soundfile.read(folder / line["sound"])
        assert line["messages"][0]["contents"] == [{"type": "audio"}, {"type": "text", "value": "Dog or cat?"}]
        line |= {"model": "mine-7b", "answer": heard(rate, len(sound)), "facts": {"tokens": 1}, **more}
    return lines


def imported(place: Path, lines: list[dict[str, Any]], **more: Any) -> list[Any]:
    """Probe with a file of these lines; return the values of all clips, and how each run was probed."""
    file = place / "answers.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    probe(
        [place / "runs"], applications=[], tasks=[place / "task.yaml"], backends=[f"answers:{file}"], workers=1, **more
    )
    return rows_of(place)


def rows_of(place: Path) -> list[Any]:
    """Return the values of a task by run and clip, and the model's name with its marks."""
    found = []
    for info in sorted(place.rglob("run.json")):
        folder = RunFolder(info.parent)
        (told,) = folder.info().probes.values()
        values = {row.clip: next(iter(row.probes.values())).model_dump() for row in folder.rows()}
        found.append((values, told.backend, told.remote and told.remote.answers))
    return found


@pytest.mark.sample(2, among="answers of chats in runs")
def test_the_same_rows_as_the_same_chat_here(plain: Path, tmp_path: Path, server: ModelServer) -> None:
    """A chat that answers by the sound gives equal values, whether it is asked here or elsewhere."""
    here, elsewhere = (Path(shutil.copytree(plain, tmp_path / name)) for name in ("here", "elsewhere"))

    def answer(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        part = next(of for of in asked.body["messages"][0]["content"] if "input_audio" in of)
        sound, rate = soundfile.read(io.BytesIO(base64.b64decode(part["input_audio"]["data"])))
        return ok({"choices": [{"message": {"content": heard(rate, len(sound))}, "finish_reason": "stop"}]})

    server.answer = answer
    backend = f"chat:{server.configure(tmp_path)}"
    probe([here / "runs"], applications=[], tasks=[here / "task.yaml"], backends=[backend], workers=1)
    lines = asked_elsewhere(elsewhere)
    assert len(lines) == 4 * (1 + len(CODECS))
    found = imported(elsewhere, lines)
    assert [values for values, *_ in found] == [values for values, *_ in rows_of(here)]
    assert [rest for _, *rest in found] == [["answers:mine-7b", 8]] * len(CODECS)


@pytest.mark.sample(2, among="answers of chats in runs")
def test_a_longer_file_goes_on_where_the_shorter_one_ended(plain: Path, tmp_path: Path) -> None:
    """What is missing is failed and never scored; another call with it computes it, and nothing else."""
    place = Path(shutil.copytree(plain, tmp_path / "copy"))
    lines = asked_elsewhere(place)
    gone = [line for line in lines if line.get("codec") == CODECS[1] and line["clip"] == "größe 2.wav"]
    short = imported(place, [line for line in lines if line not in gone])
    assert [of["status"] for values, *_ in short for of in values.values()].count("failed") == len(gone) == 1
    longer = imported(place, gone)
    assert {of["status"] for values, *_ in longer for of in values.values()} == {"ok"}
    assert longer == imported(place, lines)
    lost = {"answer": None, "failed": "filtered"}
    values = imported(place, [{**line, **lost} if line in gone else line for line in lines], overwrite=True)[1][0]
    assert [value["status"] for value in values.values() if "filtered" in value["reason"]] == ["failed"]


LINE = {"model": "m", "clip": "c", "answer": "dog"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "expected at least one line with model, clip and answer, got none"),
        ([LINE, {**LINE, "answer": "cat"}], "line 2: c has another answer to this in a line before"),
        ([LINE, {**LINE, "clip": "d", "model": "n"}], "expected the model of the lines before, 'm', got 'n'"),
        ([{"model": "m", "clip": "c"}], "expected either answer, a text, or failed"),
        ([{**LINE, "failed": "both"}], "expected either answer, a text, or failed"),
        ([{**LINE, "awnser": "dog"}], "there is no field 'awnser'"),
        ([{"clip": "c", "answer": "dog"}], "line 1: expected a field 'model'"),
        ([{**LINE, "sha256": "abc"}], "sha256: expected 64 hexadecimal digits"),
        ([{**LINE, "answer": 3}], "answer: Input should be a valid string"),
        ([[LINE]], "expected a JSON object"),
        ([{**LINE, "facts": {"cost": float("nan")}}], "facts.cost: Input should be a finite number"),
        ([{**LINE, "facts": {"tokens": 10**400}}], "facts.tokens: Input should be less than or equal to"),
        ([{**LINE, "facts": {"cost": "five"}}], "facts.cost: Input should be a valid number"),
        ([{**LINE, "facts": {"price": 5}}], "there is no field 'facts.price'"),
        ([{**LINE, "model": "m\n\x1b[31mred"}], "model: expected one line of visible characters"),
        (["[" * 100_000], "expected a JSON object"),
        (["nonsense"], "expected a JSON object"),
        (["\ud800"], "expected UTF-8 text"),
    ],
)
def test_wrong_files_are_refused_by_line(tmp_path: Path, lines: list[Any], said: str) -> None:
    """Each is one sentence that names the file."""
    file = tmp_path / "answers.jsonl"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(MissingModel) as error:
        AnswersFile(str(file)).prepare()
    assert str(file) in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.sample(2, among="answers of chats in runs")
def test_questions_about_several_datasets_whose_clips_share_names(plain: Path, tmp_path: Path) -> None:
    """An answer is never taken for another dataset's clip; what two codecs made alike is asked once."""
    with pytest.raises(ApplicationError, match="expected understanding tasks, got none"):
        write_questions([plain / "runs"], tmp_path / "q", applications=["aec"])
    place = Path(shutil.copytree(plain, tmp_path / "copy"))
    more = [place / "more", place / "namesake" / "data"]
    for folder in more:
        folder.mkdir(parents=True)
        shutil.copy(place / "data" / "c3.wav", folder / "c0.wav")
        (folder / "labels.csv").write_text("path,events,category\nc0.wav,dog,audio\n")
    resynthesise(["flac", "alac"], [str(folder) for folder in more], out=place / "runs", workers=1)
    with pytest.raises(PipelineError, match="expected datasets of different names"):
        asked_elsewhere(place)
    for codec in ("flac", "alac"):
        shutil.rmtree(place / "runs" / codec / "data")
    lines = asked_elsewhere(place)
    assert [line["dataset"] for line in lines].count("more") == 2
    assert len({line["sound"] for line in lines}) == len(lines) == 4 * (1 + len(CODECS)) + 2
    swapped = [{**line, "answer": "cat"} if line["dataset"] == "more" else line for line in lines]
    found = [values for values, *_ in imported(place, swapped)]
    assert {of["status"] for values in found for of in values.values()} == {"ok"}
    assert [values["c0.wav"]["reference"]["correct"] for values in found if len(values) == 1] == [0, 0]
