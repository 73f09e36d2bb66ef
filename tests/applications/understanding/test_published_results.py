"""Result files of UltraEval-Audio become published figures; what is no such file is refused in one sentence."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.understanding.conversion.published import FILE_LIMIT, read_published, task_of
from codec_superb.applications.understanding.conversion.ultraeval import equals
from codec_superb.applications.understanding.registry import own_registry
from codec_superb.cli.main import call

STEM = "2026-07-30_09-05-01"


def _file(root: Path, text: str, dataset: str = "librispeech-test-clean", stem: str = STEM) -> Path:
    file = root / "res" / "some-model" / dataset / f"{stem}-overall.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_files_become_figures_of_our_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Model, dataset and date come from the path, clips from the records; what has no equal is said."""
    file = _file(tmp_path, "{'wer(%)': np.float64(1.5), 'fail_rate(%d)': 25.0}")
    kinds = [(0, "prompt"), (0, "eval"), (1, "error"), (2, "eval"), (3, "error"), (3, "eval"), (4, "inference")]
    lines = [json.dumps({"type": kind, "id": clip, "data": {}}) for clip, kind in kinds]
    file.with_name(f"{STEM}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    _file(tmp_path, "{'acc(%)': 50}", "COVID-recognizer", "mine")
    out = tmp_path / "out.csv"
    command = ["tasks", "import", str(tmp_path / "res"), "--source", "a paper, 2026"]
    assert call([*command, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "published"
    covid, wer, failing = told["figures"]
    assert (covid["task"], covid["value"], covid["made"], covid["answered"]) == ("", 50.0, "", None)
    assert (wer["model"], wer["task"], wer["figure"], wer["value"]) == ("some-model", "asr", "wer(%)", 1.5)
    assert (wer["made"], wer["answered"], wer["failed"]) == ("2026-07-30T09:05:01", 3, 1)
    assert failing["figure"] == "fail_rate(%d)"
    with out.open(encoding="utf-8", newline="") as opened:
        assert [row["value"] for row in csv.DictReader(opened)] == ["50.0", "1.5", "25.0"]
    assert call(command) == 0
    printed = capsys.readouterr()
    assert "published, not re-run here: a paper, 2026" in printed.out
    assert "COVID-recognizer: no task here" in printed.err


def test_maintainers_show_and_remove_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is imported is listed with its source until it is removed; the program's own models are refused."""
    _file(tmp_path, "{'wer(%)': 1.5, 'cer(%)': 2}")
    storage = ["--storage", str(tmp_path / "storage")]
    assert call(["admin", "tasks", "import", str(tmp_path / "res"), "--source", "a paper", *storage]) == 0
    assert "some-model: 2 values" in capsys.readouterr().out
    assert call(["admin", "tasks", "list", "--json", *storage]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["model"], entry["values"], entry["source"]) == ("some-model", 2, "a paper")
    assert call(["admin", "tasks", "remove", "some-model", *storage]) == 0
    assert call(["admin", "tasks", "remove", "some-model", *storage]) != 0
    assert "no imported model 'some-model'" in capsys.readouterr().err


def test_every_name_is_one_of_our_tasks() -> None:
    """The table names tasks that exist, and a dataset falls to one of them."""
    assert set(equals()["datasets"]) <= set(own_registry().tasks)
    assert (task_of("covost2-en-zh"), task_of("hsk6"), task_of("hsk7")) == ("translate_en_zh", "speech_hsk", "")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "{'wer(%)': nan}", "{'wer(%)': 1e999}", "{'a': True}", "{'a': '1'}", "{'a': {'b': 1}}",
        "{'a\\n': 1}", "{'a': 1j}", "{'error': 'division by zero', 'fail_rate(%d)': 0.0}", "__import__('os').getcwd()",
        "{'a': " + "[" * 20_000, "{'a': " + "9" * 5_000 + "}", "{'a': 1}" + " " * FILE_LIMIT, "{[]: 1}", "\x00",
        "{1: 2}", "{'a': np.float64(nan)}", "{'a\\ud800': 1}", "{'a': -" + "-" * 30_000 + "1}",
    ],
)  # fmt: skip
def test_another_content_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    """Nothing is run, and the file is named."""
    with pytest.raises(ApplicationError) as refused:
        read_published([_file(tmp_path, text)], "x")
    assert STEM in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300 + len(str(tmp_path))


def test_wrong_names_and_records_are_refused(tmp_path: Path) -> None:
    """A file twice, another name, a folder without files, records of another form."""
    file = _file(tmp_path, "{'a': 1}")
    other = file.with_name("a.json")
    other.write_text("{'a': 1}", encoding="utf-8")
    (tmp_path / "none").mkdir()
    for paths in ([file, file], [other], [tmp_path / "none"], [file.with_name(f"b{STEM}-overall.json")]):
        with pytest.raises(ApplicationError):
            read_published(paths, "x")
    for line in ("[" * 100_000, '{"type": 1, "id": 2}', '{"type": "eval", "id": true}', "\xff", '"' * 2_000_000):
        file.with_name(f"{STEM}.jsonl").write_text(line, encoding="latin-1")
        with pytest.raises(ApplicationError, match="line 1: expected"):
            read_published([file], "x")
