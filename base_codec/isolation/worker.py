"""The program inside a private environment: opens a guest and serves the host's requests until the host ends.

``python worker.py REQUESTS ANSWERS ARRAYS_IN ARRAYS_OUT``: descriptors of two pipes and of two files of shared memory.
It needs only the standard library and numpy, and never imports the package that started it. The output of a codec's
package goes to the log, since the protocol does not use standard output.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import platform
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

HEARTBEAT_S = 1.0
GRACE_S = 0.5
"""Seconds that a worker may still run after its host has ended."""
Frame = tuple[dict[str, Any], bytes]
"""Header and blob."""


def load_file(path: Path) -> Any:
    """Import a Python file by its path."""
    spec = importlib.util.spec_from_file_location(f"_isolated_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def value_of(result: Any) -> Any:
    """Return a guest's result as the protocol takes it: bytes, or an array and its side information (empty: none).

    Raises ValueError for a pair with empty bytes, since its decoder would be called without the argument; TypeError
    for no result.
    """
    if isinstance(result, bytes):
        return result
    if result is None or isinstance(result, str):
        raise TypeError(f"expected an array or bytes from the guest, got {type(result).__name__}")
    if not (isinstance(result, tuple) and len(result) == len(("tokens", "side")) and isinstance(result[1], bytes)):
        return np.asarray(result), b""
    if not result[1]:
        raise ValueError("expected bytes beside the tokens, got none; return the tokens alone where there are none")
    return np.asarray(result[0]), result[1]


def as_many(results: Any, clips: Sequence[Any]) -> Sequence[Any]:
    """Return the results of a batch as a list. Raises ValueError unless there is one for each clip."""
    listed = list(results)
    if len(listed) != len(clips):
        raise ValueError(f"expected a result for each clip of a batch of {len(clips)}, got {len(listed)}")
    return listed


def text_frame(text: str) -> Frame:
    """Return the answer with a text; half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    return {"kind": "result", "text": True}, text.encode(errors="replace")


class Worker:
    """One guest and the pipes to its host."""

    def __init__(self, requests: int, answers: int, arrays_in: int, arrays_out: int) -> None:
        self.protocol = load_file(Path(__file__).with_name("protocol.py"))
        self.requests, self.answers = requests, answers
        self.arrays_in, self.arrays_out = (
            self.protocol.SharedArrays(descriptor) for descriptor in (arrays_in, arrays_out)
        )
        self.guest: Any = None
        self._buffer = bytearray()
        self._writing = threading.Lock()

    def send(self, header: dict[str, Any], blob: bytes = b"") -> None:
        """Send one frame; heartbeats come from another thread."""
        with self._writing:
            self.protocol.write_all(self.answers, self.protocol.pack(header, blob))

    def receive(self) -> Frame | None:
        """Wait for a frame; None when the host has closed the pipe."""
        while True:
            frame: Frame | None = self.protocol.unpack(self._buffer)
            if frame is not None:
                return frame
            data = os.read(self.requests, 1 << 16)
            if not data:
                return None
            self._buffer += data

    def serve(self) -> None:
        """Send the greeting, then answer requests until the host closes the pipe."""
        hello = {"kind": "hello", "protocol": self.protocol.VERSION, "python": platform.python_version()}
        self.send({**hello, "numpy": np.__version__, "pid": os.getpid()})
        # from a thread: it beats while a package computes, and stops where one hangs with the interpreter's lock held
        threading.Thread(target=self._beat, daemon=True).start()
        threading.Thread(target=self._end_with_host, daemon=True).start()
        while (frame := self.receive()) is not None:
            self._answer(*frame)

    def _answer(self, header: dict[str, Any], blob: bytes) -> None:
        try:
            answer = self._counted(header, blob) if header.get("count") else self._answer_of(header, blob)
        except Exception as error:  # noqa: BLE001 - any error of a foreign package; the host decides what it means
            # to the log, whose end the host shows where the worker dies of it
            traceback.print_exc()
            sys.stderr.flush()
            self.send({"kind": "error", "type": type(error).__name__, "message": str(error)})
        else:
            self.send(*answer)

    def _answer_of(self, header: dict[str, Any], blob: bytes) -> Frame:
        answer: Frame = getattr(self, "do_" + header["kind"])(header, blob)
        return answer

    def _counted(self, header: dict[str, Any], blob: bytes) -> Frame:
        """Answer a request, and count the operations of torch behind it."""
        counter = load_file(Path(__file__).parent.with_name("counting.py")).OperationCounter()
        with counter:
            answer, data = self._answer_of(header, blob)
        return {**answer, "counted": list(counter.found())}, data

    def _results(self, results: Sequence[Any]) -> Frame:
        """Return the answer with a guest's results, one for each clip."""
        values, blob = self.arrays_out.put([value_of(result) for result in results])
        return {"kind": "result", "values": values}, blob

    def do_load(self, header: dict[str, Any], _blob: bytes) -> Frame:
        """Open the guest's module and model; say what weights were opened, and which calls take several clips."""
        tools = sys.modules["guest_tools"] = load_file(Path(__file__).with_name("guest_tools.py"))
        self.guest = load_file(Path(header["guest"])).Guest(header["card"], header["device"])
        batches = [kind for kind in ("encode", "decode") if hasattr(self.guest, f"{kind}_batch")]
        return {"kind": "result", "weights": tools.identity(header["card"]), "batches": batches}, b""

    def do_encode(self, header: dict[str, Any], blob: bytes) -> Frame:
        """Return the payloads of audio ``(channels, samples)``."""
        audios = [audio for audio, _ in self.arrays_in.get(header["values"], blob)]
        if hasattr(self.guest, "encode_batch"):
            return self._results(as_many(self.guest.encode_batch(audios), audios))
        return self._results([self.guest.encode(audio) for audio in audios])

    def do_decode(self, header: dict[str, Any], blob: bytes) -> Frame:
        """Return the audio ``(channels, samples)`` of bytes, or of tokens with their side information."""
        values = self.arrays_in.get(header["values"], blob)
        pairs = [(value, b"") if isinstance(value, bytes) else value for value in values]
        channels = header["channels"]
        if hasattr(self.guest, "decode_batch"):
            payloads, sides = (list(part) for part in zip(*pairs, strict=True))
            beside = [sides] if any(sides) else []
            audios = as_many(self.guest.decode_batch(payloads, channels, *beside), pairs)
        else:
            audios = [self.guest.decode(its, channels, *([side] if side else [])) for its, side in pairs]
        return self._results([np.asarray(audio, dtype=np.float32) for audio in audios])

    def do_predict(self, header: dict[str, Any], blob: bytes) -> Frame:
        """Return the prediction for samples: a text or an array of numbers."""
        ((samples, _),) = self.arrays_in.get(header["values"], blob)
        result = self.guest.predict(samples)
        return text_frame(result) if isinstance(result, str) else self._results([result])

    def do_reply(self, header: dict[str, Any], blob: bytes) -> Frame:
        """Return a chat's answer to messages in which audio parts stand for the samples."""
        ((samples, _),) = self.arrays_in.get(header["values"], blob)
        result = self.guest.reply(samples, header["messages"])
        if not isinstance(result, str):
            raise TypeError(f"expected a text from the guest, got {type(result).__name__}")
        return text_frame(result)

    def _beat(self) -> None:
        """Send a heartbeat every second."""
        while True:
            time.sleep(HEARTBEAT_S)
            try:
                self.send({"kind": "heartbeat"})
            except OSError:
                return

    def _end_with_host(self) -> None:
        """Wait until the host's end of the pipe is closed, then end the process."""
        poll = select.poll()
        poll.register(self.requests, 0)  # poll(2) always reports POLLHUP, even for an empty event mask
        poll.poll()
        time.sleep(GRACE_S)
        os._exit(1)


def main(arguments: list[str]) -> None:
    """Serve over the descriptors given."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the process group; the host handles it
    faulthandler.enable()
    descriptors = [int(argument) for argument in arguments]
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    try:
        Worker(*descriptors).serve()
    except BrokenPipeError:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
