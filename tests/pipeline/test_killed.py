"""A run that is killed at any moment is resumed and ends with the same rows and the same audio, bit for bit."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.drive import main, start
from support.pipeline.killing import finish, killed
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, speech_folder
from support.profile import amount
from support.timing import PATIENCE_S, quickest

from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.tables.rows import ResynthesisRow

KILLS = amount(2, 20)
SLOW = f"{HERE}:Slow"


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of 30 short clips."""
    return speech_folder(tmp_path_factory.mktemp("data") / "clips", 30)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, clips: Path) -> Path:
    """Give an output folder after resynth and score without any trouble, and after resynth alone beside it."""
    out = tmp_path_factory.mktemp("undisturbed")
    assert main(_resynth(clips, out / "full")) == 0
    shutil.copytree(out / "full", out / "resynth")
    assert main(_score(out / "full")) == 0
    return out


def _resynth(clips: Path, out: Path) -> dict[str, Any]:
    return {"stage": "resynth", "codecs": [SLOW], "datasets": [str(clips)], "out": str(out)}


def _score(out: Path) -> dict[str, Any]:
    return {"stage": "score", "metrics": ["si_sdr", "sdr"], "out": str(out)}


def _made(run: Path) -> dict[Path, int]:
    """Give the audio of the clips in the journal, and when it was written."""
    with Journal(run / "journal" / "resynth.jsonl", ResynthesisRow) as journal:
        paths = [RunFolder(run).audio_path(f"clip{n:02}.wav") for n in range(30) if f"clip{n:02}.wav" in journal]
    return {path: path.stat().st_mtime_ns for path in paths}


@pytest.mark.slow
def test_resynth_killed_at_any_moment_ends_with_the_same_rows(tmp_path: Path, clips: Path, undisturbed: Path) -> None:
    """Whenever a disturbed run is through it equals the undisturbed one; it is begun anew until there were ``KILLS``.

    No clip that was in the journal at a kill is made again.
    """
    moments = random.Random(2)
    expected = contents(undisturbed / "resynth" / "slow" / "clips")
    kills = rounds = kept = 0
    while kills < KILLS:
        out = tmp_path / str(rounds)
        made: dict[Path, int] = {}
        while kills < KILLS and killed(_resynth(clips, out), moments, 0.4):
            kills += 1
            made = _made(out / "slow" / "clips") | made
        finish(_resynth(clips, out))
        assert {path: path.stat().st_mtime_ns for path in made} == made
        kept += len(made)
        assert contents(out / "slow" / "clips") == expected
        assert not list(out.rglob(".part-*"))
        rounds += 1
    assert len(expected[0]) == len(expected[1]) == 30
    assert kept > 0


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_run_under_a_condition_killed_at_any_moment_ends_with_the_same_rows(tmp_path: Path, clips: Path) -> None:
    """The same for the clean run and the one beside it, whose noise is that of an undisturbed run."""
    moments, condition = random.Random(5), {"conditions": ["noise:white:10"]}
    names = ("slow", "slow@noise_white_10")
    assert main(_resynth(clips, tmp_path / "undisturbed") | condition) == 0
    expected = [contents(tmp_path / "undisturbed" / name / "clips") for name in names]
    assert expected[0] != expected[1]
    kills = rounds = 0
    while kills < KILLS:
        out = tmp_path / str(rounds)
        while kills < KILLS and killed(_resynth(clips, out) | condition, moments, 0.8):
            kills += 1
        finish(_resynth(clips, out) | condition)
        assert [contents(out / name / "clips") for name in names] == expected
        rounds += 1


@pytest.mark.slow
def test_score_killed_at_any_moment_ends_with_the_same_rows(tmp_path: Path, undisturbed: Path) -> None:
    """The same for scoring: every value of every clip is the undisturbed run's."""
    moments = random.Random(3)
    expected = contents(undisturbed / "full" / "slow" / "clips")
    kills = rounds = 0
    while kills < KILLS:
        out = tmp_path / str(rounds)
        shutil.copytree(undisturbed / "resynth", out)
        while kills < KILLS and killed(_score(out), moments, 0.15):
            kills += 1
        finish(_score(out))
        assert contents(out / "slow" / "clips") == expected
        assert not list(out.rglob(".part-*"))
        rounds += 1
    assert {value["status"] for row in expected[0] for value in row["metrics"].values()} == {"ok"}


@pytest.mark.sample(2, among="what is killed or has no room")
def test_ctrl_c_ends_a_run_within_a_second_and_it_can_be_resumed(tmp_path: Path) -> None:
    """An interrupt in the middle of a clip that takes 30 s ends parent and workers at once; what was done is kept."""
    clips = speech_folder(tmp_path / "clips", 4)
    assert main(_resynth(clips, tmp_path / "runs")) == 0
    order = _resynth(clips, tmp_path / "runs") | {"codecs": [SLOW, f"{HERE}:Sleepy"]}

    def interrupt() -> float:
        with start(**order) as process:
            assert process.stdout is not None
            assert process.stdout.readline().split()[-2:] == ["4", "4"]
            assert process.stdout.readline().split()[-2:] == ["4", "0"]
            time.sleep(1)  # both workers are in the middle of a clip
            began = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
            took = time.monotonic() - began
        assert process.returncode == 130
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
        return took

    assert quickest(interrupt, 1.0) < 1.0
    finish(_resynth(clips, tmp_path / "runs"))
