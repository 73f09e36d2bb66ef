"""What a codec in an environment of its own does after something went wrong: no clip gets the answer to another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.codecs import isolated
from support.codecs.isolated import clip, make_clips, pid_of, tiny_card
from support.pipeline.workers import alive

from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import ensure_built, find_environment
from codec_superb.base_codec.isolation.errors import GuestFailed, WorkerDied
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.cli.main import call
from codec_superb.data_manifests.files import locked
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder

SLOW, TINY = (f"{Path(isolated.__file__).resolve()}:{name}" for name in ("Slow", "Tiny"))
UNDECODABLE = 88


@pytest.fixture
def codec() -> Iterator[IsolatedCodec]:
    """Open the tiny codec."""
    opened = IsolatedCodec(tiny_card()).load()
    yield opened
    opened.close()


@pytest.mark.sample(1, among="isolated workers recover")
def test_a_decoder_that_always_dies_ends_the_run(tmp_path: Path) -> None:
    """That every clip could be encoded before does not hide that no clip is ever done."""
    clips = make_clips(tmp_path / "clips", [UNDECODABLE] * 6)
    last = "The last time: the codec's worker: ended with exit code 9"
    with pytest.raises(CodecUnusable, match=f"died 3 times in a row, the run stops here; .*{last}"):
        resynthesise([TINY], [str(clips)], out=tmp_path / "runs", workers=1)


def test_deaths_of_encoder_and_decoder_add_up_until_both_worked(codec: IsolatedCodec) -> None:
    """Three clips that died one after the other are three, whichever half of the codec died."""
    good = codec.encode(clip(), 16000)
    with pytest.raises(WorkerDied):
        codec.encode(clip(2), 16000)
    codec.wake()
    os.kill(pid_of(codec), signal.SIGKILL)
    with pytest.raises(WorkerDied):
        codec.decode(good)
    with pytest.raises(WorkerDied):
        codec.encode(clip(2), 16000)
    with pytest.raises(CodecUnusable, match="died 3 times in a row"):
        codec.decode(good)


@pytest.mark.sample(1, among="isolated workers recover")
def test_an_exception_between_deaths_starts_the_count_anew(codec: IsolatedCodec) -> None:
    """A worker that answers, if with an error, is alive."""
    for _ in range(4):
        with pytest.raises(WorkerDied):
            codec.encode(clip(2), 16000)
        with pytest.raises(GuestFailed):
            codec.encode(clip(4), 16000)


def test_the_answer_to_an_interrupted_question_is_nobody_elses(codec: IsolatedCodec) -> None:
    """Ctrl-C in a notebook, an alarm: the clip after it gets its own tokens."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            codec.encode(clip(81), 16000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    other = clip(samples=1700)
    assert np.abs(codec.decode(codec.encode(other, 16000)) - other).max() < 1e-4


def test_threads_take_turns(codec: IsolatedCodec) -> None:
    """Two threads with one codec each get what belongs to their clips."""
    wrong: list[int | None] = []

    def work(samples: int) -> None:
        got = [codec.encode(clip(samples=samples), 16000).tokens for _ in range(50)]
        wrong.extend(tokens for tokens in got if tokens != samples)

    threads = [threading.Thread(target=work, args=(samples,)) for samples in (1600, 1700)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_fork_gets_a_worker_of_its_own(codec: IsolatedCodec) -> None:
    """A child process neither reads its parent's answers nor ends its parent's worker."""
    ours = pid_of(codec)
    child = os.fork()
    if child == 0:
        its_own = codec.encode(clip(samples=1700), 16000).tokens == 1700 and pid_of(codec) != ours
        codec.close()
        os._exit(0 if its_own else 1)
    assert codec.encode(clip(), 16000).tokens == 1600
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert alive(ours)
    assert codec.encode(clip(), 16000).tokens == 1600


def test_last_words_are_of_this_clip_and_readable(codec: IsolatedCodec) -> None:
    """What a worker said over an earlier clip is not told of this one; a megabyte of words leaves no hole."""
    with pytest.raises(GuestFailed):
        codec.encode(clip(4), 16000)
    with pytest.raises(WorkerDied, match=r"ended with exit code 9$"):
        codec.encode(clip(2), 16000)
    codec.encode(clip(85), 16000)
    codec.encode(clip(), 16000)
    with pytest.raises(WorkerDied, match=r"end of its log: Traceback: about to be killed$"):
        codec.encode(clip(1), 16000)


@pytest.mark.sample(1, among="isolated workers recover")
def test_loading_again_is_no_time_of_the_next_clip(tmp_path: Path) -> None:
    """The second that a model takes to load after a death does not make a codec slow."""
    clips = make_clips(tmp_path / "clips", [2, 0])
    (outcome,) = resynthesise([SLOW], [str(clips)], out=tmp_path / "runs", workers=1)
    failed, done = sorted(RunFolder(outcome.path).rows(), key=lambda row: row.clip)
    assert (failed.status, done.status) == ("failed", "ok")
    assert done.encode_s is not None
    assert done.encode_s < 1


def test_a_worker_that_cannot_start_again_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that lost numpy while a run used it costs one clip, not a minute of each."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    (numpy,) = isolated.make_tiny_environment().glob("lib/*/site-packages/numpy")
    codec = IsolatedCodec(tiny_card()).load()
    numpy.unlink()
    os.kill(pid_of(codec), signal.SIGKILL)
    with pytest.raises(WorkerDied):
        codec.encode(clip(), 16000)
    with pytest.raises(CodecUnusable, match=r"tiny cannot be opened: (.|\n)*No module named 'numpy'"):
        codec.encode(clip(), 16000)


def test_a_frozen_worker_takes_no_long_request(codec: IsolatedCodec, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is longer than a pipe ends with the patience too."""
    worker = codec.worker
    assert worker is not None
    monkeypatch.setattr(worker, "patience", replace(worker.patience, heartbeat=1.0))
    os.kill(worker.pid, signal.SIGSTOP)
    with pytest.raises(WorkerDied, match=r"took no request within 1 s"):
        worker.decode([(bytes(1 << 20), b"")], 1)


def test_an_environment_that_lost_its_python_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's Python was removed: what links to it is no environment any more."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    isolated.make_tiny_environment()
    lock = open_lock(str(isolated.LOCK))
    assert find_environment(lock).state == "built"
    python = ensure_built(lock).python
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert find_environment(lock).state == "interrupted"


@pytest.mark.sample(1, among="isolated workers recover")
def test_tokens_stop_and_go_on_as_runs_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Export ends after three dead workers; decode loses the clips that its decoder dies over, and tells them."""
    clips = make_clips(tmp_path / "clips", [0, 2, 2, 2, 0])
    file = tmp_path / "tokens.parquet"
    export = ["tokens", "export", "-o", str(file), "--dataset"]
    assert call([*export, str(clips), "--codec", TINY]) == 2
    assert "died 3 times in a row" in capsys.readouterr().err
    assert not file.exists()
    good = make_clips(tmp_path / "good", [0, UNDECODABLE, 0])
    assert call([*export, str(good), "--codec", TINY, "--device", "cuda"]) == 2
    assert "its locked packages run on the cpu" in capsys.readouterr().err
    assert call([*export, str(good), "--codec", TINY]) == 0
    assert call(["tokens", "decode", str(file), "--out", str(tmp_path / "out"), "--codec", TINY]) == 3
    told = capsys.readouterr()
    assert "clip1.wav: WorkerDied: the codec's worker: ended with exit code 9" in told.err
    assert "2 clips in " in told.out
    assert len(list((tmp_path / "out").glob("*.flac"))) == 2


def test_the_lock_outlives_a_killed_build(tmp_path: Path) -> None:
    """While the installer of a killed process still writes, nobody else builds in the same folder."""
    installer = f"echo > {tmp_path}/started; sleep 1.5; echo > {tmp_path}/ended"
    code = (
        "import sys; from pathlib import Path; from codec_superb.data_manifests.files import locked\n"
        "from codec_superb.base_codec.isolation.lock import open_lock\n"
        "from codec_superb.base_codec.isolation.steps import run_step\n"
        "with locked(Path(sys.argv[1])): run_step(['sh', '-c', sys.argv[2]], open_lock(sys.argv[3]), {})"
    )
    arguments = [str(tmp_path / "lock"), installer, str(isolated.LOCK)]
    build = subprocess.Popen([sys.executable, "-c", code, *arguments])
    while not (tmp_path / "started").exists():
        assert build.poll() is None
        time.sleep(0.01)
    build.kill()
    build.wait()
    with locked(tmp_path / "lock"):
        assert (tmp_path / "ended").exists()
