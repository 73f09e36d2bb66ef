"""Tasks on Ray, with machines that come and go: the rows of one machine without trouble."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile
from support.pipeline.ray_nodes import RayNodes
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, noise, speech_folder
from support.profile import amount

from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.named import open_executor

CODEC = f"{HERE}:Unhurried"
KILLS = amount(1, 20)


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    """Give a cluster whose head computes nothing."""
    with RayNodes() as nodes:
        yield nodes


def _clips(folder: Path, clips: int) -> Path:
    """Make clips, one of which kills its worker process, and one of which the codec refuses."""
    data = speech_folder(folder, clips)
    for fault in (1, 4):
        soundfile.write(data / f"fault{fault}.wav", noise(4000 + fault), 16000)
    return data


def test_rows_are_those_of_one_machine_while_machines_are_killed_and_join(tmp_path: Path, nodes: RayNodes) -> None:
    """Rows, sound and failures, though machines are killed ``KILLS`` times with work on them and others take over."""
    data = _clips(tmp_path / "data", 4 + 4 * KILLS)
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
    assert contents(there.path) == contents(here.path)
    assert sorted(there.failed) == sorted(here.failed)
    assert [(one.clip, one.stage) for one in there.failed] == [("fault1.wav", "worker"), ("fault4.wav", "encode")]
