"""Tasks on Ray, with machines that come and go: the rows of one machine without trouble."""

from __future__ import annotations

import os
import random
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import soundfile
from support.pipeline.drive import start
from support.pipeline.killing import finish, killed
from support.pipeline.ray_nodes import RayNodes
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, noise
from support.pipeline.workers import alive, build, own_pid, squares, thread_limits, without_first
from support.profile import amount
from support.timing import PATIENCE_S, wait_for

import codec_superb
from codec_superb.base_codec.isolation.lock import current_platform
from codec_superb.data_manifests.files import PARTIAL
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.executors import open_executor
from codec_superb.pipeline.workers.ray import ray_options
from codec_superb.plugins import import_file

T = TypeVar("T")
CODEC = f"{HERE}:Unhurried"
KILLS = amount(1, 20)


@pytest.mark.parametrize(
    ("text", "device", "address", "needs"),
    [
        ("", "auto", None, {"num_cpus": 1, "num_gpus": 0, "memory": 0, "resources": {}}),
        ("", "cuda", None, {"num_cpus": 1, "num_gpus": 1, "memory": 0, "resources": {}}),
        (
            "10.0.0.1:6379,num_gpus=0.25,memory=8e9,resources.a100=1",
            "cuda",
            "10.0.0.1:6379",
            {"num_cpus": 1, "num_gpus": 0.25, "memory": 8e9, "resources": {"a100": 1}},
        ),
    ],
)
def test_needs_of_an_actor_follow_the_address(
    text: str, device: str, address: str | None, needs: dict[str, object]
) -> None:
    """What an actor needs is read by Ray's own names; a core, and a graphics card for CUDA, unless told otherwise."""
    assert ray_options(text, device=device)[:2] == (address, needs)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ray:num_gpu=1", "expected ADDRESS and NAME=NUMBER of num_cpus, num_gpus, .*, got num_gpu=1"),
        ("ray:num_cpus=many", "got num_cpus=many"),
        ("ray:num_cpus=-1", "got num_cpus=-1"),
        ("ray:resources.=1", "got resources.=1"),
        ("ray:num_cpus=0", "expected at least one resource"),
        ("ray:a:1,b:2", "expected one address, got a:1 and b:2"),
        ("rays", "expected --executor processes, ray"),
    ],
)
def test_other_options_are_refused(name: str, words: str) -> None:
    """A mistake is told before Ray is started: an unknown resource would be waited for."""
    with pytest.raises(PipelineError, match=words):
        open_executor(name, 1)


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    """Give a cluster whose head computes nothing."""
    with RayNodes() as nodes:
        yield nodes


def _values(events: Iterable[TaskResult[Any, T] | WorkerCrash[Any]]) -> list[T]:
    """Give what was computed."""
    return [event.value for event in events if isinstance(event, TaskResult)]


def _clips(folder: Path, clips: int, faults: tuple[int, ...] = ()) -> Path:
    """Make clips, with those that the codec fails on: 1 kills its worker process, 4 is refused."""
    folder.mkdir()
    for number in range(clips):
        soundfile.write(folder / f"clip{number:02}.wav", noise(4000 + 100 * number, seed=number), 16000)
    for fault in faults:
        soundfile.write(folder / f"fault{fault}.wav", noise(4000 + fault), 16000)
    return folder


@pytest.mark.slow
def test_rows_are_those_of_one_machine_while_machines_are_killed_and_join(tmp_path: Path, nodes: RayNodes) -> None:
    """Rows, sound and failures, though machines are killed ``KILLS`` times with work on them and others take over."""
    data = _clips(tmp_path / "data", 4 + 4 * KILLS, (1, 4))
    with Executor(2) as pool:
        (here,) = resynthesise([CODEC], [str(data)], out=tmp_path / "here", category="speech", executor=pool)
    moments, told = random.Random(5), list[str]()
    alive = [nodes.add() for _ in range(min(2, KILLS))]

    def disturb() -> None:
        """Kill a machine and start another, while the run goes on."""
        for _ in range(KILLS):
            time.sleep(moments.uniform(0.3, 1))
            nodes.kill(alive.pop(moments.randrange(len(alive))))
            alive.append(nodes.add())

    trouble = threading.Thread(target=disturb)

    class Watching:
        """Begins the trouble with the first row."""

        def start(self, title: str, total: int, done: int = 0) -> None:
            """Ignore it."""

        def advance(self, count: int = 1) -> None:
            """Begin once."""
            if trouble.ident is None:
                trouble.start()

        def message(self, text: str) -> None:
            """Keep it."""
            told.append(text)

    with open_executor(f"ray:{nodes.address}", None, tell=told.append) as pool:
        (there,) = resynthesise(
            [CODEC], [str(data)], out=tmp_path / "there", category="speech", progress=Watching(), executor=pool
        )
    trouble.join()
    assert any("Ray lost a machine" in text for text in told), told
    rows, files = contents(there.path)
    # what a killed machine was writing lies there until the next call
    whole = {name: digest for name, digest in files.items() if not Path(name).name.startswith(PARTIAL)}
    assert (rows, whole) == contents(here.path)
    assert sorted(there.failed) == sorted(here.failed)
    assert [(one.clip, one.stage) for one in there.failed] == [("fault1.wav", "worker"), ("fault4.wav", "encode")]


@pytest.mark.slow
@pytest.mark.sample(1, among="what Ray does")
def test_what_comes_of_a_task_is_what_comes_of_it_in_a_process(nodes: RayNodes) -> None:
    """Values, deaths, hangs and exceptions as worker processes give them; tasks are taken as places become free.

    A task that kills the actor itself three times fails, and costs nobody else.
    """
    nodes.add(2)
    taken = list[int]()

    def tasks() -> Iterator[tuple[int, ...]]:
        for number in range(30):
            taken.append(number)
            yield (number,)

    told = list[str]()
    with open_executor(f"ray:{nodes.address}", 2, tell=told.append) as pool:
        assert list(pool.stream(squares, [])) == []
        ahead = []
        for answered, event in enumerate(pool.stream(squares, tasks()), 1):
            assert isinstance(event, TaskResult)
            ahead.append(len(taken) - answered)
        assert max(ahead) <= 4
        pool.timeout = 6
        events = list(pool.stream(squares, [(1, -1, 2), (3, -2), (4,), (-3,), (-5,), (5,)], remainder=without_first))
        assert sorted(_values(events)) == [1, 4, 9, 16, 25]
        assert {(event.task[event.index], event.reason) for event in events if isinstance(event, WorkerCrash)} == {
            (-1, "worker process killed by SIGSEGV"),
            (-2, "worker process ended with exit code 7"),
            (-3, "no answer within 6 s; the worker process was ended"),
            (-5, "3 workers of Ray were lost while they computed it"),
        }
        (limits,) = _values(pool.stream(thread_limits, [""]))
        assert set(limits) == {"1"}
        with pytest.raises(ValueError, match="no square of -4 today"):
            list(pool.stream(squares, [(-4,), *[(-3,)] * 4]))
        assert told[-1] == f"what ends the command was said on {socket.gethostname()}"
        pids = set(_values(pool.stream(own_pid, range(20))))
        assert any(map(alive, pids))
    wait_for(lambda: not any(map(alive, pids)), "worker processes outlive the executor")


@pytest.mark.slow
@pytest.mark.sample(1, among="what Ray does")
def test_a_machine_with_another_package_is_refused(tmp_path: Path, nodes: RayNodes) -> None:
    """Both are named where a machine has another version, of this package, numpy or a file; no task runs there.

    All machines of this test read one file: it is changed between what the driver knows of it and the task.
    """
    other = tmp_path / "codec_superb"
    shutil.copytree(Path(codec_superb.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__"))
    text = (other / "__init__.py").read_text()
    (other / "__init__.py").write_text(text.replace(codec_superb.__version__, "0.0.7"))
    nodes.add(resources={"other": 1}, env_vars={"PYTHONPATH": str(tmp_path)})
    words = rf"here is codec-superb {codec_superb.__version__} \(files .*, on .* codec-superb 0\.0\.7 \(files "
    metadata = tmp_path / "before" / "numpy-1.0.7.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.0.7\n")
    nodes.add(resources={"numpy": 1}, env_vars={"PYTHONPATH": f"{tmp_path / 'before'}{os.pathsep}{nodes.path}"})
    numbers = rf"here is numpy {np.__version__}, on \S+ numpy 1\.0\.7$"
    for resource, expected in (("other", words), ("numpy", numbers)):
        with (
            open_executor(f"ray:{nodes.address},resources.{resource}=1", None) as pool,
            pytest.raises(PipelineError, match=expected),
        ):
            list(pool.stream(squares, [(1,)]))
    mine = tmp_path / "mine.py"
    mine.write_text("GAIN = 1\n")
    import_file(mine)

    def changed() -> Iterator[tuple[int, ...]]:
        mine.write_text("GAIN = 2\n")
        yield (1,)

    nodes.add(resources={"third": 1})
    with (
        open_executor(f"ray:{nodes.address},resources.third=1", None) as pool,
        pytest.raises(
            PipelineError, match=rf"where the command was called {mine} has SHA-256 \w{{64}}, on \S+ \w{{64}}: "
        ),
    ):
        list(pool.stream(squares, changed()))


@pytest.mark.slow
@pytest.mark.sample(1, among="what Ray does")
def test_two_workers_of_a_machine_build_an_environment_once(tmp_path: Path, nodes: RayNodes) -> None:
    """One builds what both want in the machine's own home, and the other waits for it."""
    lock = tmp_path / "small.txt"
    lock.write_text(f"# python: {sys.version_info.major}.{sys.version_info.minor}\n# platform: {current_platform()}\n")
    home = {"CODEC_SUPERB_HOME": str(tmp_path / "home"), "CODEC_SUPERB_INSTALLER": "pip"}
    nodes.add(2, resources={"two": 2}, env_vars=home)
    with open_executor(f"ray:{nodes.address},resources.two=1", 2) as pool:
        wait_for(
            lambda: len({e.value for e in pool.stream(own_pid, range(9)) if isinstance(e, TaskResult)}) == 2, "two"
        )
        answers = [event.value for event in pool.stream(build, [str(lock)] * 2) if isinstance(event, TaskResult)]
    assert len({pid for pid, _ in answers}) == 2
    assert sorted(len(said) for _, said in answers) == [0, 1]
    assert len(list((tmp_path / "home" / "environments").glob("*/complete.json"))) == 1


def test_an_address_where_nobody_listens_is_told_at_once() -> None:
    """Ray itself would ask for minutes."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.2", 0))  # and does not listen
        pool = open_executor(f"ray:127.0.0.2:{taken.getsockname()[1]}", 1)
        with pytest.raises(
            PipelineError, match=r"cannot begin on 127\.0\.0\.2:\d+: .*Connection refused; start it there"
        ):
            list(pool.stream(squares, [(1,)]))


@pytest.mark.slow
@pytest.mark.sample(1, among="what Ray does")
def test_machines_that_do_not_come_end_the_run_in_words(nodes: RayNodes) -> None:
    """A resource that no machine has is told, and waited for only as long as was said."""
    told = list[str]()
    with (
        open_executor(f"ray:{nodes.address},resources.none=1,patience=15", None, tell=told.append) as pool,
        pytest.raises(PipelineError, match=r"room for an actor \(CPU 1 of \d+, none 1 of 0\) for 15 s"),
    ):
        list(pool.stream(squares, [(1,)]))
    assert [text.partition(" with")[0] for text in told] == ["waiting for a machine of the Ray cluster"]


@pytest.mark.slow
@pytest.mark.sample(1, among="what Ray does")
def test_the_dashboard_shows_results_and_waiting_tasks(nodes: RayNodes) -> None:
    """Prometheus is told of results, of their rate, and of what is computed and waits."""
    nodes.add()
    with open_executor(f"ray:{nodes.address}", 1) as pool:
        seen: list[str] = []

        def shown() -> bool:
            list(pool.stream(squares, [(number,) for number in range(50)]))
            seen[:] = [line for line in nodes.metrics().splitlines() if "codec_superb" in line and line[0] != "#"]
            return any("codec_superb_results_per_second" in line and float(line.split()[-1]) > 0 for line in seen)

        wait_for(shown, "no rate")
    names = {line.partition("{")[0] for line in seen}
    assert {"ray_codec_superb_tasks_running", "ray_codec_superb_tasks_waiting", "ray_codec_superb_actors"} <= names
    assert any(name.startswith("ray_codec_superb_results") and "per_second" not in name for name in names)


@pytest.mark.slow
@pytest.mark.sample(1, among="what Ray does")
def test_a_run_whose_driver_and_whose_head_are_killed_goes_on(tmp_path: Path) -> None:
    """First the command is killed, then Ray's head: what was finished is not made again, and the rows are the same."""
    data = _clips(tmp_path / "data", 60)  # work beyond the seconds in which the head is missed
    order = {"stage": "resynth", "codecs": [CODEC], "datasets": [str(data)], "out": str(tmp_path / "here")}
    finish(order)
    order["out"] = str(tmp_path / "there")
    with RayNodes() as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "5")  # in the driver, which waits a minute otherwise
        cluster.add()
        order["executor"] = f"ray:{cluster.address}"
        assert killed(order, random.Random(3), 1)
        with start(**order) as process:
            assert process.stdout is not None
            assert any(line.startswith("advanced") for line in process.stdout)
            cluster.kill_head()
            _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 1
        assert "the connection to the Ray cluster is lost; run the command again when it is back" in errors
    run = tmp_path / "there" / "unhurried" / "data"
    made = {path: path.stat().st_mtime_ns for path in (run / "audio").rglob("*.flac")}
    assert made
    with RayNodes() as cluster:
        cluster.add()
        finish(order | {"executor": f"ray:{cluster.address}"})
    assert contents(run) == contents(tmp_path / "here" / "unhurried" / "data")
    assert sum(path.stat().st_mtime_ns == then for path, then in made.items()) >= len(made) - 2
