"""docs/understanding.md carried out: its files, its commands, and its tables."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from support.home import home_with_models
from support.profile import amount
from support.speech import recordings
from support.stranger import ROOT, guide_blocks

import codec_superb
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.applications.understanding.processes.table import PROCESSES
from codec_superb.cli.main import call
from codec_superb.pipeline.runs.folder import RunFolder

GUIDE = "understanding.md"
AUSTEN = "librivox/sense_and_sensibility_01_austen_64kb"
SOUND = {
    "c1.wav": "cards/001.wav", "c2.wav": "cards/002.wav", "c3.wav": "cards/003.wav", "n1.wav": f"{AUSTEN}-0880.wav",
    "n2.wav": f"{AUSTEN}-0930.wav",
}  # fmt: skip


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a stranger's folder with the guide's files and five recordings."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(home_with_models(tmp_path / "home")))
    monkeypatch.chdir(tmp_path)
    for name in ("calls", "my_tasks"):
        (tmp_path / name).mkdir()
    for name, content in zip(SOUND, recordings(list(SOUND.values())), strict=True):
        (tmp_path / "calls" / name).write_bytes(content)
    (tmp_path / "calls" / "labels.csv").write_text(guide_blocks(GUIDE, "csv")[0])
    (tmp_path / "my_tasks" / "topic.yaml").write_text(guide_blocks(GUIDE, "yaml")[0])
    return tmp_path


def _follow(block: str) -> None:
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "codec-superb"
        assert call(arguments) == 0


@pytest.mark.filterwarnings("ignore::codec_superb.plugins.PluginWarning")  # what is packed is not asked here
@pytest.mark.sample(1, among="guides carried out")
def test_a_stranger_asks_a_question_of_her_own(stranger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Word for word: checked, answered on three codecs, on the page; then edited, scored anew, and read without it."""
    check, bench = guide_blocks(GUIDE, "sh")
    _follow(check)
    told = capsys.readouterr().out
    assert "user: What is this about: card game or family?" in told
    assert "prefix-match: right, read as 'card game'" in told
    clips = amount(2, 5)  # each is listened to for a second, by four sides
    _follow(f"{bench.strip()} --limit {clips}")
    assert "Topic of a call: accuracy" in (stranger / "runs" / "report.html").read_text()
    run = RunFolder(stranger / "runs" / "g711_alaw" / "calls")
    (old,) = run.info().probes
    assert [row.probes[old].status for row in run.rows()] == ["ok"] * clips
    assert sum(row.probes[old].reference["correct"] for row in run.rows()) >= amount(1, 3)
    task = stranger / "my_tasks" / "topic.yaml"
    task.write_text(task.read_text() + "version: '2'\n")
    result = codec_superb.load(stranger / "runs" / "g711_alaw")
    codec_superb.probe(result, tasks=task, backends="cascade", progress=False)
    (new,) = run.info().probes
    assert new != old
    assert all(new in row.probes and old not in row.probes for row in run.rows())
    task.unlink()
    capsys.readouterr()
    assert call(["compare", "runs/opus_6k", "runs/codec2_700", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert call(["report", "runs", "-o", "again.html"]) == 0
    assert "Topic of a call" in (stranger / "again.html").read_text()


@pytest.mark.parametrize("table", [PROCESSES, MEASURES], ids=["post-processors", "measures"])
def test_every_row_is_documented(table: dict[str, object]) -> None:
    """The guide's tables have a row for each post-processor and measure."""
    text = (ROOT / "docs" / GUIDE).read_text(encoding="utf-8")
    assert [name for name in table if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a task in"),
        ("task: a_b\ntitle: A\nlabel: text\nmeasure: em\nbackend: casade\nprompt: 'What is said?'", "mean cascade?"),
    ],
)
def test_check_task_refuses_what_probe_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """A file without tasks, and a chat that does not exist, end with code 2."""
    file = tmp_path / "task.yaml"
    file.write_text(text)
    assert call(["check-task", str(file)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
