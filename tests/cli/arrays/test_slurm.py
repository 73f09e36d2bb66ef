"""Batch scripts for Slurm: run by a stand-in of sbatch, with tasks that are preempted, out of time, and that fail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, speech_folder
from support.pipeline.slurm import options_of, sbatch

from codec_superb.cli.main import call
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder

SLOW = f"{HERE}:Slow"


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return


@pytest.mark.slow
def test_tasks_go_on_where_they_were_and_merge_to_the_run_of_one_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One task is out of time and then preempted, the other has a clip that fails and says so by its exit code."""
    speech_folder(tmp_path / "clips", 24, seconds=0.1)
    (tmp_path / "clips" / "broken.wav").write_bytes(b"no sound")
    stage = ["resynth", "--codec", SLOW, "--dataset", "clips", "--out", "runs"]
    assert call(["slurm", "--shards", "2", "--cpus", "1", "--sbatch", "--partition=spot", *stage]) == 0
    script = tmp_path / "resynth.sbatch"
    script.write_text(capsys.readouterr().out)
    done: list[int] = []

    def went_on(task: int) -> bool:
        clips = len(RunFolder(tmp_path / f"runs/slow/clips.shard-{task}-of-2").resynthesised())
        if clips <= (done[-1] if done else 0):
            return False
        done.append(clips)
        return True

    codes = sbatch(script, {1: ("out of time", "preempted")}, went_on)
    assert sorted(codes.values()) == [0, 3]
    logs = {task: (tmp_path / f"logs/codec-superb-resynth-7_{task}.log").read_text() for task in codes}
    assert "out of time, back to the queue" in logs[1]
    before = [int(count) for count in re.findall(r"(\d+) done before", logs[1])]
    assert before[0] >= done[0]  # between a look at the journal and the signal more may be done
    assert logs[1].splitlines()[-1].startswith("codec-superb resynth: shard 1/2, job 7_1 on ")
    assert f"ended with {codes[2]}" in logs[2]
    assert 0 < done[0] < done[1]
    assert call(["merge", "runs", "--check", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(of["shard"], of["clips"] - of["resynthesised"]) for of in listed] == [("1/2", 0), ("2/2", 0)]
    assert call(["merge", "runs"]) == 3
    resynthesise([SLOW], [str(tmp_path / "clips")], out=tmp_path / "one", workers=1)
    assert contents(tmp_path / "runs/slow/clips") == contents(tmp_path / "one/slow/clips")


def test_resources_become_options_of_sbatch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What a task needs, what the site needs, and a device that is there or fails."""
    needs = ["--shards", "64", "--time", "8:00:00", "--memory", "32G", "--cpus", "8", "--gpus", "1", "--at-once", "16"]
    assert call(["slurm", *needs, "--logs", "out/logs", "probe", "runs", "--application", "asr"]) == 0
    script = tmp_path / "probe.sbatch"
    script.write_text(capsys.readouterr().out)
    options = options_of(script)
    assert options == options | {
        "--array": "1-64%16", "--time": "8:00:00", "--mem": "32G", "--cpus-per-task": "8", "--gres": "gpu:1",
        "--requeue": "", "--open-mode": "append", "--output": "out/logs/%x-%A_%a.log",
    }  # fmt: skip
    assert "probe runs --application asr --device cuda --workers 8 --shard" in script.read_text()
    assert (tmp_path / "out" / "logs").is_dir()
    assert call(["slurm", "--shards", "2", "--gpus", "1", "score", "runs", "--workers=3", "--json"]) == 0
    assert "score runs --workers=3 --json --shard" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench"], "expected a stage that has shards, resynth, score, probe, got 'bench'"),
        (["resynth", "--codec", "opus_12k"], "resynth needs dataset"),
        (["score"], "score needs runs"),
        (["score", "runs", "--metric", "mcd"], "There is no metric 'mcd'"),
        (["probe", "runs", "--application", "asrr"], "Did you mean"),
        (["resynth", "--codec", "opus_13k", "--dataset", "mini"], "opus_13k"),
        (["probe", "runs", "--aplication", "asr"], "No such option: --aplication"),
        (["score", "runs", "--shard", "1/2"], "leave --shard out"),
        (["score", "runs", "--overwrite"], "leave --overwrite out: a task that is restarted would begin anew"),
        (["resynth", "--codec", "opus_12k", "--dataset", "-"], "a task has no standard input"),
    ],
)
def test_what_no_task_could_do_is_refused_before_it_waits(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistake is told when the script is made, not hours later in a log."""
    assert call(["slurm", "--shards", "2", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
