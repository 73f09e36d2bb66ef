"""The wire and the handshake: what is no worker of this version is refused at once."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from codec_superb.base_codec.isolation import protocol
from codec_superb.base_codec.isolation.errors import HandshakeFailed, WorkerDied
from codec_superb.base_codec.isolation.process import WORKER, Timeouts, WorkerProcess

SHORT = Timeouts(start=5, load=5, call=5, heartbeat=1.5)
"""For programs that say nothing; others get more, as a busy machine takes its time to start them."""
GREETING = (
    "import os, sys, json, struct, time; answers = int(sys.argv[2]); "
    "text = json.dumps({'kind': 'hello', 'protocol': %d}).encode(); "
    "os.write(answers, struct.pack('<4sII', b'CSIR', len(text), 0) + text); time.sleep(20)"
)


def program(code: str) -> list[str]:
    """Return a program that runs ``code``."""
    return [sys.executable, "-I", "-c", code]


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (GREETING % 99, HandshakeFailed, "expected a worker of protocol 4, got 99"),
        (
            "import os, sys; os.write(int(sys.argv[2]), b'Welcome to Python')",
            HandshakeFailed,
            "does not speak this protocol",
        ),
        ("import sys; sys.exit('no numpy here')", WorkerDied, "exit code 1; end of its log: no numpy here"),
    ],
)
def test_a_failed_handshake_says_what_came(code: str, error: type[Exception], message: str) -> None:
    """Another version, another program and one that ends are told apart."""
    with pytest.raises(error, match=message):
        WorkerProcess(program(code), Timeouts())


def test_a_program_that_never_greets_is_given_up() -> None:
    """Silence from the start is told as such."""
    with pytest.raises(WorkerDied, match=r"no sign of life within 1.5 s"):
        WorkerProcess(program("import time; time.sleep(20)"), SHORT)


def test_a_program_that_is_not_there_is_named() -> None:
    """An environment that lost its interpreter is an error that says what to do."""
    with pytest.raises(HandshakeFailed, match=r"cannot start /nowhere/python .*; rebuild its environment"):
        WorkerProcess(["/nowhere/python"], Timeouts())


def test_silence_is_a_sign_of_death() -> None:
    """A worker that greets and then neither answers nor beats is given up before its time is."""
    worker = WorkerProcess(program(GREETING % protocol.VERSION), Timeouts())
    worker.patience = SHORT
    with pytest.raises(WorkerDied, match=r"no sign of life within 1.5 s"):
        worker.encode([np.zeros((1, 10), dtype=np.float32)])
    worker.terminate()


def test_a_worker_tells_who_it_is() -> None:
    """The greeting has the protocol, the Python and the numpy inside."""
    worker = WorkerProcess([sys.executable, "-I", str(WORKER)], Timeouts())
    assert worker.hello["numpy"] == np.__version__
    assert worker.hello["pid"] == worker.pid
    worker.terminate()


def test_frames_come_out_whole_however_they_arrive() -> None:
    """Byte by byte or two at once, each frame comes back once, in order."""
    frames = [({"kind": "a", "text": "ü"}, b""), ({"kind": "b"}, bytes(range(256)))]
    stream = b"".join(protocol.pack(*frame) for frame in frames)
    buffer, seen = bytearray(), []
    for byte in stream:
        buffer.append(byte)
        if (frame := protocol.unpack(buffer)) is not None:
            seen.append(frame)
    assert seen == frames
    whole = bytearray(stream)
    assert [protocol.unpack(whole), protocol.unpack(whole), protocol.unpack(whole)] == [*frames, None]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"Warning: something", "expected a frame, got"),
        (b"CSIR\xff\xff\xff\xff\0\0\0\0", "expected a header of at most"),
        (b"CSIR\x03\0\0\0\0\0\0\0abc", "expected a JSON header"),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes, message: str) -> None:
    """Text, absurd lengths and broken headers are errors, not waited on."""
    with pytest.raises(protocol.ProtocolError, match=message):
        protocol.unpack(bytearray(data))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.int64, np.uint8])
def test_arrays_survive_shared_memory(dtype: type) -> None:
    """Every kind and shape, empty ones and views included, comes back equal and owned."""
    with protocol.shared_file() as file:
        writer, reader = protocol.SharedArrays(file.fileno()), protocol.SharedArrays(file.fileno())
        arrays = (np.arange(6, dtype=dtype).reshape(2, 3), np.zeros((3, 0), dtype), np.arange(99, dtype=dtype)[::2])
        for sent in ([(array, b"") for array in arrays[:1]], [(array, b"side") for array in arrays]):
            for (array, side), (copy, its) in zip(sent, reader.get(*writer.put(sent)), strict=True):
                assert copy.dtype == array.dtype
                assert np.array_equal(copy, array)
                assert copy.flags.writeable
                assert its == side


def test_values_of_several_clips_come_back_in_order() -> None:
    """Bytes, arrays and arrays with bytes beside them may follow one another; a blob of another length is refused."""
    sent = [b"payload", (np.arange(5), b""), (np.ones((2, 3), np.float32), b"loud"), b""]
    with protocol.shared_file() as file:
        writer, reader = protocol.SharedArrays(file.fileno()), protocol.SharedArrays(file.fileno())
        notes, blob = writer.put(sent)
        first, (tokens, nothing), (sound, side), last = reader.get(notes, blob)
        assert (first, nothing, side, last) == (b"payload", b"", b"loud", b"")
        assert np.array_equal(tokens, np.arange(5))
        assert np.array_equal(sound, np.ones((2, 3)))
        with pytest.raises(protocol.ProtocolError, match="expected 11 bytes beside the header, got 12"):
            reader.get(notes, blob + b"x")
        notes[1]["array"]["start"] = 1 << 20
        with pytest.raises(protocol.ProtocolError, match="bytes of shared memory for"):
            reader.get(notes, blob)
        with pytest.raises(protocol.ProtocolError, match="expected an array of numbers"):
            writer.put([(np.array(["text"]), b"")])
