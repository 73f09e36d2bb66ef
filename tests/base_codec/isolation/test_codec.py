"""A codec in an environment of its own: the same results as here, and what each fault of the worker costs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codecs.isolated import clip, pid_of, tiny_card
from support.pipeline.workers import alive
from support.timing import PATIENCE_S, wait_for

from codec_superb.base_codec.errors import CatalogueError, CodecUnusable, CodingFailed, RefusedSetting
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.errors import GuestFailed, WorkerDied
from codec_superb.base_codec.isolation.process import Timeouts


@pytest.fixture
def codec() -> Iterator[IsolatedCodec]:
    """Open the tiny codec."""
    opened = IsolatedCodec(tiny_card(isolation={"timeout_s": PATIENCE_S})).load()
    yield opened
    opened.close()


def test_tokens_and_bits_come_back_and_sound_is_right(codec: IsolatedCodec) -> None:
    """Tokens are integers of the card's shape, bits are frames times log2 of the codebook, sound is 16-bit PCM."""
    encoded = codec.encode(clip(), 16000)
    assert isinstance(encoded.payload, np.ndarray)
    assert (encoded.payload.shape, encoded.bits, encoded.tokens) == ((1, 1600), 16 * 1600, 1600)
    assert np.abs(codec.decode(encoded) - clip()).max() < 1e-4


def test_bytes_come_back_as_they_are(codec: IsolatedCodec) -> None:
    """A payload of bytes is not touched, and its bits are its length."""
    encoded = codec.encode(clip(12), 16000)
    assert encoded.payload == clip(12).astype("<f4").tobytes()
    assert encoded.bits == 32 * 1612
    assert np.array_equal(codec.decode(encoded), clip(12))


def test_what_is_sent_beside_tokens_is_counted_and_comes_back(codec: IsolatedCodec) -> None:
    """A scale of four bytes beside the tokens adds 32 bits, and the decoder gets the very bytes."""
    encoded = codec.encode(clip(13), 16000)
    assert isinstance(encoded.payload, np.ndarray)
    assert encoded.side == np.abs(clip(13)).max().astype("<f4").tobytes()
    assert (encoded.payload.shape, encoded.bits) == ((1, 1613), 16 * 1613 + 32)
    assert np.abs(codec.decode(encoded) - clip(13)).max() < 1e-5
    other = np.float32(2 * np.abs(clip(13)).max()).tobytes()
    assert np.allclose(codec.decode(replace(encoded, side=other)), 2 * codec.decode(encoded))


def test_another_process_gives_the_same(codec: IsolatedCodec) -> None:
    """A second worker gives the same tokens and the same samples."""
    first = codec.encode(clip(), 16000)
    sound = codec.decode(first)
    other = IsolatedCodec(codec.card).load()
    second = other.encode(clip(), 16000)
    assert np.array_equal(first.payload, second.payload)
    assert np.array_equal(sound, other.decode(second))
    other.close()


def test_a_long_clip_after_a_short_one_grows_the_shared_memory(codec: IsolatedCodec) -> None:
    """Lengths may go up and down: each clip comes back whole."""
    for samples in (20, 500_000, 100, 1_000_000, 700):
        assert np.abs(codec.decode(codec.encode(clip(0, samples), 16000)) - clip(0, samples)).max() < 1e-4


def test_standard_output_harms_nothing(codec: IsolatedCodec) -> None:
    """A package that prints to stdout, also from below Python and with the magic of a frame, changes no bit."""
    assert codec.encode(clip(6), 16000).bits == 16 * 1606
    assert codec.worker is not None
    assert "noise from below Python" in codec.worker.log_tail()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (1, r"killed by SIGKILL \(out of memory\?\); end of its log: Traceback: about to be killed"),
        (2, "ended with exit code 9"),
        (3, r"no answer within 1 s"),
        (5, "ran out of memory; end of its log: (.|\n)*MemoryError"),
        (10, "no answer within 1 s"),
        (11, "killed by SIGSEGV; end of its log: (.|\n)*Extension modules: numpy"),
        (82, "killed by signal 40"),
        (83, "killed by SIGKILL"),
    ],
)
def test_a_dead_worker_costs_one_clip(codec: IsolatedCodec, fault: int, message: str) -> None:
    """A crash, a hang, a freeze, a full memory: the error says how and its last words; the next clip works."""
    dead = pid_of(codec)
    if "no answer" in message:
        assert codec.worker is not None
        codec.worker.patience = Timeouts(call=1.0)  # of this worker alone: the next one is given its time
    with pytest.raises(WorkerDied, match=message):
        codec.encode(clip(fault), 16000)
    assert not alive(dead)
    assert codec.encode(clip(), 16000).bits == 16 * 1600
    assert pid_of(codec) != dead


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        (4, GuestFailed, "ValueError: this clip is not to my taste"),
        (7, CodingFailed, r"expected integer tokens \(1, frames\), got int32 \(1, 0\)"),
        (8, CodingFailed, "expected tokens from 0 to 65535, got 70000 to 70000"),
        (9, GuestFailed, "expected an array of numbers"),
        (14, GuestFailed, "expected bytes beside the tokens, got none; return the tokens alone"),
        (84, GuestFailed, "FileNotFoundError: no file model.bin$"),
        (86, GuestFailed, "expected an array or bytes from the guest, got NoneType"),
        (87, GuestFailed, "expected an array or bytes from the guest, got str"),
    ],
)
def test_an_exception_or_a_wrong_answer_keeps_the_worker(
    codec: IsolatedCodec, fault: int, kind: type[Exception], message: str
) -> None:
    """What the package raises, and tokens that are none of the card's, fail the clip and not the worker."""
    before = pid_of(codec)
    with pytest.raises(kind, match=message):
        codec.encode(clip(fault), 16000)
    assert codec.encode(clip(), 16000).bits == 16 * 1600
    assert pid_of(codec) == before


def test_a_worker_killed_between_clips_is_replaced(codec: IsolatedCodec) -> None:
    """Killed while idle, it costs the next clip, and that one only."""
    os.kill(pid_of(codec), signal.SIGKILL)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        codec.encode(clip(), 16000)
    assert codec.encode(clip(), 16000).bits == 16 * 1600


def test_three_in_a_row_are_enough(codec: IsolatedCodec) -> None:
    """After three dead workers no fourth is started; a good clip in between starts the count anew."""
    for fault in (2, 2, 0, 2, 2, 2):
        if fault:
            with pytest.raises(WorkerDied):
                codec.encode(clip(fault), 16000)
        else:
            codec.encode(clip(), 16000)
    with pytest.raises(CodecUnusable, match="died 3 times in a row"):
        codec.encode(clip(), 16000)


@pytest.mark.parametrize(
    ("fault", "message"), [("load", "FileNotFoundError: no file model.bin in /nowhere"), ("import", "no_such_package")]
)
def test_a_model_that_cannot_be_opened_says_why(fault: str, message: str) -> None:
    """Missing weights and packages show when the codec is opened, with the guest's own reason."""
    with pytest.raises(CodecUnusable, match=f"tiny cannot be opened: .*{message}"):
        IsolatedCodec(tiny_card(settings={"fault": fault})).load()


def test_what_the_card_lacks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another device than the lock's, an unknown guest or lock, and a card without isolation are named."""
    with pytest.raises(RefusedSetting, match="locked packages run on the cpu, and there are none for CUDA"):
        IsolatedCodec(tiny_card()).load("cuda")
    with pytest.raises(CatalogueError, match="no guest nobody: expected one of"):
        IsolatedCodec(tiny_card(isolation={"guest": "nobody"}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CatalogueError, match=r"no guest mine\.py: expected one of"):
        IsolatedCodec(tiny_card(isolation={"guest": "mine.py"}))
    Path("mine.py").write_text("")
    IsolatedCodec(tiny_card(isolation={"guest": "mine.py"}))
    with pytest.raises(CatalogueError, match="no lock nothing: expected one of"):
        IsolatedCodec(tiny_card(isolation={"lock": "nothing"})).load()
    with pytest.raises(CatalogueError, match="no `isolation`"):
        IsolatedCodec(tiny_card().model_copy(update={"isolation": None}))


def test_closing_ends_the_worker(codec: IsolatedCodec) -> None:
    """No process is left, and the codec can be used again."""
    pid = pid_of(codec)
    codec.close()
    assert not alive(pid)
    assert codec.encode(clip(), 16000).bits == 16 * 1600


def test_the_worker_ends_with_its_host() -> None:
    """A worker whose host is killed does not stay, even while it computes."""
    from multiprocessing import Process, Queue

    pids: Queue[int] = Queue()
    host = Process(target=_host, args=(pids,))
    host.start()
    pid = pids.get(timeout=PATIENCE_S)
    host.kill()
    host.join()
    wait_for(lambda: not alive(pid), "the worker outlived its host")


def _host(pids: Any) -> None:
    codec = IsolatedCodec(tiny_card()).load()
    pids.put(pid_of(codec))
    codec.encode(clip(3), 16000)
