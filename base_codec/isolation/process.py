"""A worker process as its host sees it: started, greeted, asked, and buried when it dies or says nothing."""

from __future__ import annotations

import json
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

from codec_superb.base_codec.isolation import protocol
from codec_superb.base_codec.isolation.errors import GuestFailed, HandshakeFailed, WorkerDied
from codec_superb.base_codec.isolation.exit_status import how_it_ended

START_TIMEOUT_S = 60.0
"""Longest that a worker may take to say its first word, on a busy machine."""
LOAD_TIMEOUT_S = 3600.0
"""Longest that a model may take to load, weights fetched included."""
HEARTBEAT_TIMEOUT_S = 60.0
"""Longest silence of a worker that computes: it beats every second, but compiled code may hold Python's lock."""
_LOOK_S = 1.0
"""How often it is looked after a worker that says nothing."""
LOG_LIMIT = 1 << 20
LOG_TAIL_BYTES = 300
"""Characters of a worker's standard error that go into a clip's row."""
WORKER = Path(__file__).with_name("worker.py")
_FOLDERS = re.compile(r"/(?:[^\s/\"']+/)+([^\s/\"']+)")
"""Absolute paths: rows are published, and a machine's folders are nobody's business."""
Payload = bytes | NDArray[Any]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a worker may be silent, in seconds."""

    start: float = START_TIMEOUT_S
    load: float = LOAD_TIMEOUT_S
    call: float = 600.0
    heartbeat: float = HEARTBEAT_TIMEOUT_S


class WorkerProcess:
    """One child program; any method may raise WorkerDied, after which only :meth:`terminate` makes sense."""

    def __init__(self, program: Sequence[str], patience: Timeouts, kind: str = "codec") -> None:
        """Start ``program`` with four descriptors as its last arguments, and exchange versions.

        ``kind`` is what it works for, as errors say it. Raises HandshakeFailed when it speaks otherwise, WorkerDied
        when it ends before its first word.
        """
        self.patience = patience
        self.kind = kind
        self.hello: dict[str, Any] = {}
        self._buffer = bytearray()
        self._files: list[BinaryIO] = [protocol.shared_file(), protocol.shared_file()]
        self._to, self._from = (protocol.SharedArray(file.fileno()) for file in self._files)
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
        os.set_blocking(self._requests, False)  # a worker that is frozen takes nothing; see _send
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
            raise HandshakeFailed(f"cannot start {program[0]} ({error}); build its environment anew") from error
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
            raise HandshakeFailed(f"the program in the environment speaks no protocol of this one: {error}") from error
        if header.get("kind") != "hello" or header.get("protocol") != protocol.VERSION:
            raise HandshakeFailed(
                f"expected a worker of protocol {protocol.VERSION}, got {header.get('protocol')!r}: "
                "the program changed while it ran; call it again"
            )
        self.hello = header

    def load(self, guest: Path, card: dict[str, Any], device: str) -> dict[str, str]:
        """Open the guest; return what it tells of the weights that it opened. Raises GuestFailed with its reason."""
        header = {"kind": "load", "guest": str(guest), "card": card, "device": device}
        _, told = self._exchange(header, self.patience.load)
        weights: dict[str, str] = json.loads(told)
        return weights

    def encode(self, audio: NDArray[np.float32]) -> tuple[Payload, bytes]:
        """Return what the guest makes of ``(channels, samples)``: a payload, and what it sends beside tokens."""
        answer, data = self._exchange({"kind": "encode", "array": self._to.put(audio)}, self.patience.call)
        if "array" in answer:
            return self._from.get(answer["array"]), data
        if not answer.get("bytes"):
            raise GuestFailed("expected tokens or bytes from the guest's encode, got neither")
        return data, b""

    def decode(self, payload: Payload, channels: int, side: bytes = b"") -> NDArray[np.float32]:
        """Return the guest's audio ``(channels, samples)``; ``side`` is what its encoder sent beside tokens."""
        header: dict[str, Any] = {"kind": "decode", "channels": channels}
        blob = payload if isinstance(payload, bytes) else side
        if not isinstance(payload, bytes):
            header["array"] = self._to.put(payload)
        audio = self._ask(header, self.patience.call, blob)
        if isinstance(audio, bytes):
            raise GuestFailed("expected an array from the guest's decode, got bytes")
        return audio

    def predict(self, samples: NDArray[np.float32]) -> str | NDArray[Any]:
        """Return what the guest makes of ``(samples,)``: a text or an array."""
        answer, data = self._exchange({"kind": "predict", "array": self._to.put(samples)}, self.patience.call)
        if answer.get("text"):
            return data.decode()
        if "array" not in answer:
            raise GuestFailed("expected a text or an array from the guest's predict, got neither")
        return self._from.get(answer["array"])

    def _ask(self, header: dict[str, Any], patience: float, blob: bytes = b"") -> Payload:
        answer, data = self._exchange(header, patience, blob)
        return self._from.get(answer["array"]) if "array" in answer else data

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
            message = answer["message"] if header["kind"] == "load" else _FOLDERS.sub(r"\1", answer["message"])
            raise GuestFailed(f"{answer['type']}: {message}")
        return answer, data

    def _send(self, frame: bytes) -> None:
        """Write a request, which a worker that waits for one takes at once."""
        rest, until = memoryview(frame), time.monotonic() + self.patience.heartbeat
        while rest:
            if select.select([], [self._requests], [], max(0.0, until - time.monotonic()))[1]:
                rest = rest[os.write(self._requests, rest) :]
            elif time.monotonic() >= until:
                raise self._died(f"it took no request within {self.patience.heartbeat:g} s; it was ended")

    def _receive(self, patience: float) -> tuple[dict[str, Any], bytes]:
        """Wait for an answer, past the heartbeats."""
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
                data = os.read(self._answers, 1 << 16)
                if not data:
                    raise self._died("")
                self._buffer += data
            elif self._process.poll() is not None:
                raise self._died("")  # and a child that it left behind holds its pipe open

    def _died(self, reason: str) -> WorkerDied:
        """Return the error that says how the worker ended, ending it where it has not."""
        if not reason:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            code = self._process.poll()
            reason = "it closed its pipe and went on" if code is None else how_it_ended(code)
        self._process.kill()
        self._process.wait()
        words = self.log_tail()
        return WorkerDied(f"the {self.kind}'s worker: {reason}" + (f"; its last words: {words}" if words else ""))

    def log_tail(self) -> str:
        """Return the end of what the worker wrote to its standard error and output since it was last asked."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        self._log.seek(max(self._heard, size - 4 * LOG_TAIL_BYTES))
        text = self._log.read().decode(errors="replace").strip()
        return _FOLDERS.sub(r"\1", text)[-LOG_TAIL_BYTES:]

    def _trim_log(self) -> None:
        """Keep a talkative package from filling the disk, and what it says of one clip apart from the next one's."""
        self._heard = os.fstat(self._log.fileno()).st_size
        if self._heard > LOG_LIMIT:
            self._log.truncate(0)
            os.lseek(self._log.fileno(), 0, os.SEEK_SET)  # the worker writes at this very offset
            self._heard = 0

    def terminate(self) -> None:
        """End the process and free what it took; a worker that idles ends by itself as soon as its pipe closes."""
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
