"""Tasks on Apache Beam: the values, crashes and errors of the executor; skipped where Beam is not installed."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
import soundfile
from support.pipeline.probe import ENTRIES, KILLS, REFUSES
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, noise, speech_folder
from support.pipeline.workers import squares, thread_limits, without_first

from codec_superb.applications import catalogue
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.workers.batches import BatchQueue
from codec_superb.pipeline.workers.beam import BeamExecutor
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.executors import open_executor

pytest.importorskip("apache_beam", reason="the extra beam is not installed")


def test_every_value_of_every_task_comes_back_and_the_folder_is_empty(tmp_path: Path) -> None:
    """All values arrive, from single-threaded worker processes, and nothing is left in the shared folder."""
    with BeamExecutor((), 2, shared=tmp_path) as pool:
        events = list(pool.stream(squares, [(i, i + 1) for i in range(20)]))
        (limits,) = [event.value for event in pool.stream(thread_limits, [""]) if isinstance(event, TaskResult)]
    assert sorted(e.value for e in events if isinstance(e, TaskResult)) == sorted(
        n * n for i in range(20) for n in (i, i + 1)
    )
    assert set(limits) == {"1"}
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_dies_costs_the_value_it_was_computing() -> None:
    """A segmentation fault, an exit and a hang lose three values, each named; the rest is computed."""
    with BeamExecutor((), 2, timeout=6) as pool:
        events = list(pool.stream(squares, [(1, -1, 2), (3, -2), (4,), (-3,)], remainder=without_first))
    assert sorted(e.value for e in events if isinstance(e, TaskResult)) == [1, 4, 9, 16]
    crashes = {(e.task[e.index], e.reason) for e in events if isinstance(e, WorkerCrash)}
    assert crashes == {
        (-1, "worker process killed by SIGSEGV"),
        (-2, "worker process ended with exit code 7"),
        (-3, "no answer within 6 s; the worker process was ended"),
    }


def test_tasks_that_are_put_back_are_served() -> None:
    """A batch over which a worker died is put back one by one by whoever reads the stream."""
    queue = BatchQueue([(5, -1)])
    values = []
    with BeamExecutor((), 1) as pool:
        for event in pool.stream(squares, queue):
            if isinstance(event, TaskResult):
                values.append(event.value)
            elif len(event.task) > 1:
                queue.put_back([(6,)])
    assert sorted(values) == [25, 36]


def test_an_exception_reaches_the_caller_as_itself_and_stops_the_rest() -> None:
    """What a task raises ends the stream with the same type and text, and tasks behind it do not run."""
    tasks = [(-4,), *[(-3,)] * 4]
    started = time.monotonic()
    with BeamExecutor((), 1) as pool, pytest.raises(ValueError, match="no square of -4 today"):
        list(pool.stream(squares, tasks))
    assert time.monotonic() - started < 60


def test_a_runner_that_fails_is_told_with_its_own_words(tmp_path: Path) -> None:
    """An option that Beam refuses ends the stream."""
    with (
        BeamExecutor(("runner=NoSuchRunner",), 1, shared=tmp_path) as pool,
        pytest.raises(
            PipelineError, match=r"Beam ended with exit code 1 and without the results of 1 tasks(?s:.)*NoSuchRunner"
        ),
    ):
        list(pool.stream(squares, [(1,)]))


def test_options_are_given_by_name() -> None:
    """``beam:`` takes Beam's options and the shared folder; a runner elsewhere needs one."""
    with open_executor("beam:direct_num_workers=1,direct_running_mode=in_memory", 2) as pool:
        assert isinstance(pool, BeamExecutor)
        assert [event.value for event in pool.stream(squares, [(3,)]) if isinstance(event, TaskResult)] == [9]
    with pytest.raises(PipelineError, match="the runner FlinkRunner needs shared=DIR"):
        open_executor("beam:runner=FlinkRunner", 2)


def test_the_stages_give_the_same_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, sound and failures of resynth; on copies of one run the very bytes of the tables of score and probe."""
    data = speech_folder(tmp_path / "data", 4)
    for fault in (1, 4, KILLS, REFUSES):
        soundfile.write(data / f"fault{fault}.wav", noise(4000 + fault), 16000)
    monkeypatch.setitem(catalogue.BACKENDS, "levels", ENTRIES["levels"])
    runs: dict[str, Path] = {}
    failed = []
    with Executor(2) as here, BeamExecutor((), 2) as beam:
        for name, pool in (("here", here), ("beam", beam)):
            (done,) = resynthesise(
                [f"{HERE}:Treacherous"], [str(data)], out=tmp_path / name, category="speech", executor=pool
            )
            failed.append(sorted(done.failed))
            runs[name] = done.path
        assert contents(runs["here"]) == contents(runs["beam"])
        assert failed[0] == failed[1]
        assert [(one.clip, one.stage) for one in failed[0]] == [("fault1.wav", "worker"), ("fault4.wav", "encode")]
        runs["copy"] = Path(shutil.copytree(runs["here"], tmp_path / "copy" / runs["here"].parent.name / "data"))
        for name, pool in (("here", here), ("copy", beam)):
            monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / f"home-{name}"))
            score([runs[name]], metrics=["stoi", "si_sdr"], executor=pool)
            (probed,) = probe([runs[name]], applications=["dnsmos"], backends=["levels"], executor=pool)
            assert {one.clip for one in probed.failed if one.stage == "probe"} == {
                f"fault{KILLS}.wav", f"fault{REFUSES}.wav",
            }  # fmt: skip
    tables = [(runs[name] / "clips.parquet").read_bytes() for name in ("here", "copy")]
    assert tables[0] == tables[1]
