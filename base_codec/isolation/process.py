"""The host's handle of a worker process: start, handshake, requests with time-outs, and termination."""

from __future__ import annotations

import os
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.counting import Counted
from codec_superb.base_codec.isolation import protocol
from codec_superb.base_codec.isolation.errors import GuestFailed, HandshakeFailed, WorkerDied
from codec_superb.base_codec.isolation.exit_status import how_it_ended

START_TIMEOUT_S = 60.0
"""Seconds until a worker must have sent its first frame, on a busy machine."""
LOAD_TIMEOUT_S = 3600.0
"""Seconds until a model must be loaded, downloads included."""
HEARTBEAT_TIMEOUT_S = 60.0
"""Longest interval without a heartbeat: one is sent every second, but compiled code may hold Python's GIL."""
_LOOK_S = 1.0
"""Seconds between checks whether a silent worker is still running."""
LOG_LIMIT = 1 << 20
LOG_TAIL_BYTES = 300
"""Characters from the end of a worker's standard error that go into a clip's row."""
WORKER = Path(__file__).with_name("worker.py")
_FOLDERS = re.compile(r"/(?:[^\s/\"']+/)+([^\s/\"']+)")
"""Absolute paths, which are reduced to file names: rows are published, and must not show a machine's folders."""
Payload = bytes | NDArray[Any]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits of a worker in seconds: start, loading, one call, and the interval between heartbeats."""

    start: float = START_TIMEOUT_S
    load: float = LOAD_TIMEOUT_S
    call: float = 600.0
    heartbeat: float = HEARTBEAT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Opened:
    """What a guest opened."""

    weights: dict[str, str]
    """``sha256`` and ``revision`` of the publisher's weights, where the card has none."""
    batches: frozenset[str]
    """Which of ``encode`` and ``decode`` take several clips at once."""


class WorkerProcess:
    """One child program; any method may raise WorkerDied, after which only :meth:`terminate` makes sense."""

    def __init__(self, program: Sequence[str], patience: Timeouts, kind: str = "codec") -> None:
        """Start ``program`` with four file descriptors as its last arguments, and check the protocol's version.

        ``kind`` (codec or model) is used in messages. Raises HandshakeFailed for another protocol, WorkerDied when the
        program ends before its first frame.
        """
        self.patience = patience
        self.kind = kind
        self.hello: dict[str, Any] = {}
        self.count = False
        """Whether the next requests ask the worker to count operations."""
        self.counted: Counted | None = None
        """What the last one of them counted."""
        self._buffer = bytearray()
        self._files: list[BinaryIO] = [protocol.shared_file(), protocol.shared_file()]
        self._to, self._from = (protocol.SharedArrays(file.fileno()) for file in self._files)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        self._heard = 0
        try:
            self._process = self._start(program)
        except HandshakeFailed:
            self._close_files()
            raise
        try:
            self._handshake()
        except BaseException:
            self.terminate()
            raise

    def _start(self, program: Sequence[str]) -> subprocess.Popen[bytes]:
        its_requests, self._requests = os.pipe()
        os.set_blocking(self._requests, False)  # a frozen worker does not empty the pipe (64 KiB on Linux); see _send
        self._answers, its_answers = os.pipe()
        given = [its_requests, its_answers, *(file.fileno() for file in self._files)]
        try:
            return subprocess.Popen(
                [*program, *map(str, given)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=given,
            )
        except OSError as error:
            os.close(self._requests)
            os.close(self._answers)
            raise HandshakeFailed(f"cannot start {program[0]} ({error}); rebuild its environment") from error
        finally:
            os.close(its_requests)
            os.close(its_answers)

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def _handshake(self) -> None:
        try:
            header, _ = self._receive(self.patience.start)
        except protocol.ProtocolError as error:
            raise HandshakeFailed(f"the program in the environment does not speak this protocol: {error}") from error
        if header.get("kind") != "hello" or header.get("protocol") != protocol.VERSION:
            raise HandshakeFailed(
                f"expected a worker of protocol {protocol.VERSION}, got {header.get('protocol')!r}: "
                "the package was changed during the run; run the command again"
            )
        self.hello = header

    def load(self, guest: Path, card: dict[str, Any], device: str) -> Opened:
        """Open the guest and return what it opened. Raises GuestFailed."""
        header = {"kind": "load", "guest": str(guest), "card": card, "device": device}
        answer, _ = self._exchange(header, self.patience.load)
        return Opened(answer["weights"], frozenset(answer["batches"]))

    def encode(self, audios: Sequence[NDArray[np.float32]]) -> list[tuple[Payload, bytes]]:
        """Return the guest's payloads of clips ``(channels, samples)``, each with its side information."""
        values = self._ask({"kind": "encode"}, [(audio, b"") for audio in audios])
        return [(value, b"") if isinstance(value, bytes) else value for value in values]

    def decode(self, packets: Sequence[tuple[Payload, bytes]], channels: int) -> list[NDArray[np.float32]]:
        """Return the guest's audio ``(channels, samples)`` of payloads with the encoder's side information."""
        values = [payload if isinstance(payload, bytes) else (payload, side) for payload, side in packets]
        return [_array(value) for value in self._ask({"kind": "decode", "channels": channels}, values)]

    def predict(self, samples: NDArray[np.float32]) -> str | NDArray[Any]:
        """Return the guest's prediction for ``(samples,)``: a text or an array."""
        values, blob = self._to.put([(samples, b"")])
        answer, data = self._exchange({"kind": "predict", "values": values}, self.patience.call, blob)
        if answer.get("text"):
            return data.decode()
        (value,) = self._from.get(answer["values"], data)
        return _array(value)

    def reply(self, samples: NDArray[np.float32], messages: Sequence[Any]) -> str:
        """Return the guest's answer about ``(samples,)`` to messages ``[[role, [[kind, text], …]], …]``."""
        values, blob = self._to.put([(samples, b"")])
        _, data = self._exchange({"kind": "reply", "messages": messages, "values": values}, self.patience.call, blob)
        return data.decode()

    def _ask(self, header: dict[str, Any], clips: Sequence[protocol.Value]) -> list[protocol.Value]:
        """Send one value for each clip and return the answer's; the time limit is that of all of them."""
        values, blob = self._to.put(clips)
        asked = {**header, "values": values} | ({"count": True} if self.count else {})
        answer, data = self._exchange(asked, self.patience.call * len(clips), blob)
        if self.count:
            operations, backend, unseen, reason = answer["counted"]
            self.counted = Counted(operations, backend, tuple(unseen), reason)
        return self._from.get(answer["values"], data)

    def _exchange(self, header: dict[str, Any], patience: float, blob: bytes = b"") -> tuple[dict[str, Any], bytes]:
        self._trim_log()
        try:
            self._send(protocol.pack(header, blob))
        except BrokenPipeError as error:
            raise self._died("") from error
        try:
            answer, data = self._receive(patience)
        except protocol.ProtocolError as error:
            raise self._died(f"it broke the protocol: {error}") from error
        if answer["kind"] == "error":
            if answer["type"] == "MemoryError":
                raise self._died("it ran out of memory")
            # folders of this machine do not belong into rows; for an error of loading the user needs them
            message = answer["message"] if header["kind"] == "load" else _FOLDERS.sub(r"\1", answer["message"])
            raise GuestFailed(f"{answer['type']}: {message}")
        return answer, data

    def _send(self, frame: bytes) -> None:
        """Write a request. Raises WorkerDied when the worker does not read it within the heartbeat's time limit."""
        rest, until = memoryview(frame), time.monotonic() + self.patience.heartbeat
        while rest:
            if select.select([], [self._requests], [], max(0.0, until - time.monotonic()))[1]:
                rest = rest[os.write(self._requests, rest) :]
            elif time.monotonic() >= until:
                raise self._died(f"it took no request within {self.patience.heartbeat:g} s; it was ended")

    def _receive(self, patience: float) -> tuple[dict[str, Any], bytes]:
        """Wait for an answer, skipping heartbeats."""
        begun = alive = time.monotonic()
        while True:
            frame = protocol.unpack(self._buffer)
            now = time.monotonic()
            if frame is not None and frame[0].get("kind") != "heartbeat":
                return frame
            if frame is not None:
                alive = now
                continue
            if now - begun >= patience:
                raise self._died(f"no answer within {patience:g} s; it was ended")
            if now - alive >= self.patience.heartbeat:
                raise self._died(f"no sign of life within {self.patience.heartbeat:g} s; it was ended")
            rest = min(patience - (now - begun), self.patience.heartbeat - (now - alive), _LOOK_S)
            if select.select([self._answers], [], [], max(0.0, rest))[0]:
                # 64 KiB: the size of a pipe on Linux
                data = os.read(self._answers, 1 << 16)
                if not data:
                    raise self._died("")
                self._buffer += data
            elif self._process.poll() is not None:
                raise self._died("")  # a child of the worker may keep its end of the pipe open

    def _died(self, reason: str) -> WorkerDied:
        """Kill the worker if it still runs, and return the error that says how it ended."""
        if not reason:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            code = self._process.poll()
            reason = "it closed its pipe and went on" if code is None else how_it_ended(code)
        self._process.kill()
        self._process.wait()
        # after wait(): the last words may be written while the process ends
        words = self.log_tail()
        return WorkerDied(f"the {self.kind}'s worker: {reason}" + (f"; end of its log: {words}" if words else ""))

    def log_tail(self) -> str:
        """Return the end of the worker's standard error and output since the last request."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        self._log.seek(max(self._heard, size - 4 * LOG_TAIL_BYTES))
        text = self._log.read().decode(errors="replace").strip()
        return _FOLDERS.sub(r"\1", text)[-LOG_TAIL_BYTES:]

    def _trim_log(self) -> None:
        """Mark the start of a request in the log, and truncate the log beyond its size limit."""
        self._heard = os.fstat(self._log.fileno()).st_size
        if self._heard > LOG_LIMIT:
            self._log.truncate(0)
            os.lseek(self._log.fileno(), 0, os.SEEK_SET)  # the worker inherited the descriptor and shares its offset
            self._heard = 0

    def terminate(self) -> None:
        """End the process and free its resources; an idle worker ends by itself as soon as its pipe closes."""
        for descriptor in (self._requests, self._answers):
            with suppress(OSError):
                os.close(descriptor)
        self._requests = self._answers = -1
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._process.kill()
        self._process.wait()
        self._close_files()

    def _close_files(self) -> None:
        for file in (*self._files, self._log):
            file.close()


def _array(value: protocol.Value) -> NDArray[Any]:
    """Return the array of a value. Raises GuestFailed for bytes."""
    if isinstance(value, bytes):
        raise GuestFailed("expected an array from the guest, got bytes")
    return value[0]
