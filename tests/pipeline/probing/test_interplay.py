"""Probes beside the other stages: whatever the order, the table says what belongs together, and nothing is lost."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import soundfile
from support.audio import speech_like
from support.pipeline.killing import finish, killed
from support.pipeline.probe import ENTRIES
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents
from support.profile import amount

from codec_superb.applications import catalogue
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.workers.executor import Executor

PLAIN = f"{HERE}:Plain"
KILLS = amount(3, 10)
FRAMES = "mseb_reconstruction_yamnet"


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the test's backends into the catalogue."""
    for name, entry in ENTRIES.items():
        monkeypatch.setitem(catalogue.BACKENDS, name, entry)


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Start workers once for all tests."""
    with Executor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give 12 clips of three speakers."""
    folder = tmp_path_factory.mktemp("sound") / "data"
    folder.mkdir()
    for number in range(12):
        sound = speech_like(0.25 + number / 500, 16000, seed=number % 3)
        soundfile.write(folder / f"c{number:02}.wav", sound, 16000)
    rows = [f"c{number:02}.wav,{'abc'[number % 3]}" for number in range(12)]
    (folder / "labels.csv").write_text("\n".join(["path,speaker", *rows]) + "\n")
    return folder


class Stages:
    """The stages of one run, each as a user would call it."""

    def __init__(self, data: Path, out: Path, pool: Executor) -> None:
        self.data, self.out, self.pool = data, out, pool
        self.run = RunFolder(out / "plain" / "data")

    def resynth(self, limit: int | None = None) -> None:
        """Resynthesise all clips or some."""
        resynthesise([PLAIN], [str(self.data)], out=self.out, limit=limit, executor=self.pool)

    def score(self, metric: str = "si_sdr") -> None:
        """Compute one metric."""
        score([self.out], metrics=[metric], executor=self.pool)

    def probe(self, application: str, backend: str) -> int:
        """Run one application; return how many clips were predicted."""
        (outcome,) = probe([self.out], applications=[application], backends=[backend], executor=self.pool)
        return outcome.done

    def state(self) -> dict[str, Any]:
        """Give what the run holds: rows without times, pairs, and how the probes were run."""
        rows, _ = contents(self.run.path)
        return {"rows": rows, "pairs": self.run.pairs(), "probes": self.run.info().probes}


@pytest.fixture
def stages(data: Path, tmp_path: Path, pool: Executor) -> Stages:
    """Give a run that has been resynthesised."""
    made = Stages(data, tmp_path / "runs", pool)
    made.resynth()
    return made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, data: Path, pool: Executor) -> dict[str, Any]:
    """Give the state of a run after resynth, score and both applications."""
    made = Stages(data, tmp_path_factory.mktemp("whole") / "runs", pool)
    with pytest.MonkeyPatch.context() as patch:
        for name, entry in ENTRIES.items():
            patch.setitem(catalogue.BACKENDS, name, entry)
        made.resynth()
        made.score()
        made.probe("asv", "voices")
        made.probe("dnsmos", "levels")
        made.probe(FRAMES, "bands")
    return made.state()


@pytest.mark.sample(1, among="workers change nothing")
def test_probes_before_and_after_scores_give_the_same_run(stages: Stages, whole: dict[str, Any]) -> None:
    """Probing first, scoring between two applications and scoring last end alike."""
    stages.probe("dnsmos", "levels")
    stages.probe(FRAMES, "bands")
    stages.score()
    stages.probe("asv", "voices")
    assert stages.state() == whole
    assert stages.run.info().status == "scored"


def test_scores_that_are_added_keep_the_probes(stages: Stages) -> None:
    """Scoring again, with another metric, touches neither values nor pairs."""
    stages.probe("asv", "voices")
    before = stages.state()
    stages.score("si_sdr")
    stages.score("sdr")
    after = stages.state()
    assert (after["pairs"], after["probes"]) == (before["pairs"], before["probes"])
    assert [row["probes"] for row in after["rows"]] == [row["probes"] for row in before["rows"]]
    assert [set(row["metrics"]) for row in after["rows"]] == [{"si_sdr", "sdr"}] * 12


def test_another_backend_takes_the_place_of_the_first(stages: Stages, whole: dict[str, Any]) -> None:
    """One answer a probe stays; the first model's predictions are kept, so that it can come back at no cost."""
    stages.score()
    stages.probe("asv", "voices")
    stages.probe(FRAMES, "bands")
    assert stages.probe("dnsmos", "differences") == 12
    assert stages.state() != whole
    assert stages.run.info().probes["asv"].backend == "voices"
    assert stages.probe("dnsmos", "levels") == 12
    assert stages.state() == whole
    assert stages.probe("dnsmos", "differences") == 0


def test_more_clips_drop_the_probes_until_they_are_probed(
    data: Path, tmp_path: Path, pool: Executor, whole: dict[str, Any]
) -> None:
    """A raised limit makes other figures of all: nothing old stays, and only what is new is predicted."""
    stages = Stages(data, tmp_path / "runs", pool)
    stages.resynth(limit=8)
    stages.score()
    stages.probe("asv", "voices")
    stages.probe("dnsmos", "levels")
    stages.probe(FRAMES, "bands")
    stages.resynth()
    assert stages.state()["probes"] == {}
    assert stages.state()["pairs"] == ()
    assert not any(row["probes"] for row in stages.state()["rows"])
    stages.score()
    assert stages.state()["probes"] == {}
    assert stages.probe("asv", "voices") == 4
    assert stages.probe("dnsmos", "levels") == 4
    assert stages.probe(FRAMES, "bands") == 4
    assert stages.state() == whole


def test_a_resynthesis_that_came_out_otherwise_is_predicted_anew(stages: Stages, whole: dict[str, Any]) -> None:
    """The codec's file has changed: the run starts anew, with everything that hung on it."""
    stages.probe("asv", "voices")
    stages.run.audio_path("c03.wav").unlink()
    stages.resynth()
    assert stages.state()["probes"]["asv"].backend == "voices"
    resynthesise([PLAIN], [str(stages.data)], out=stages.out, overwrite=True, executor=stages.pool)
    assert stages.state()["probes"] == {}
    stages.score()
    assert stages.probe("asv", "voices") == 12
    stages.probe("dnsmos", "levels")
    stages.probe(FRAMES, "bands")
    assert stages.state() == whole


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_stage_killed_at_any_moment_ends_with_the_same_rows(
    data: Path, tmp_path: Path, pool: Executor, monkeypatch: pytest.MonkeyPatch, whole: dict[str, Any]
) -> None:
    """Whenever a disturbed probing is through it equals the undisturbed one; it is begun anew until enough kills."""
    made = Stages(data, tmp_path / "made", pool)
    made.resynth()
    made.score()
    order = {
        "stage": "probe",
        "applications": ["asv", "dnsmos", FRAMES],
        "backends": ["voices", "levels", "bands"],
    }
    moments = random.Random(5)
    kills = rounds = 0
    while kills < KILLS:
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / f"home{rounds}"))
        stages = Stages(data, tmp_path / str(rounds), pool)
        shutil.copytree(made.out, stages.out)
        while kills < KILLS and killed({**order, "out": str(stages.out)}, moments, 0.15):
            kills += 1
        finish({**order, "out": str(stages.out)})
        assert stages.state() == whole
        assert not list(stages.out.rglob(".part-*"))
        rounds += 1
