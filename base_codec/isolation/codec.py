"""A codec whose packages live in an environment of their own: forwards to a worker there, and replaces a dead one."""

from __future__ import annotations

from math import ceil, log2
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card, Isolation
from codec_superb.base_codec.errors import CatalogueError, CodecUnusable, CodingFailed, RefusedSetting
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets
from codec_superb.base_codec.isolation.environment import ensure
from codec_superb.base_codec.isolation.errors import GuestFailed, WorkerDied
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.isolation.process import WORKER, Patience, Payload, WorkerProcess

FAILURES_IN_A_ROW = 3
"""Dead workers after which no other is started: then it is not the clip."""
GUESTS = Path(__file__).with_name("guests")


class IsolatedCodec(Codec):
    """Runs the guest that the card's ``isolation`` names, in the environment that its lock describes."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self._isolation = _isolation_of(card)
        self._guest = guest_file(self._isolation)
        self._device = "cpu"
        self._worker: WorkerProcess | None = None
        self._failures = 0

    def load(self, device: str = "cpu") -> Self:
        """Build the environment where there is none, start a worker in it and open the model.

        Raises EnvironmentFailed, RefusedSetting for a device the lock has no packages for, CodecUnusable when the
        model cannot be opened.
        """
        if device != "cpu":
            raise RefusedSetting(f"{self.card.name}: its locked packages run on the cpu, got device {device!r}")
        self._device = device
        self._running()
        return self

    def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.bury()

    @property
    def worker(self) -> WorkerProcess | None:
        """The worker that runs now."""
        return self._worker

    def _encode(self, audio: Audio) -> Packets:
        worker = self._running()
        try:
            payload = worker.encode(audio)
        except WorkerDied:
            self._count_failure()
            raise
        self._failures = 0
        return Packets(payload, self._bits(payload))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        self._bits(packets.payload)
        worker = self._running()
        try:
            audio = worker.decode(packets.payload, channels)
        except WorkerDied:
            self._count_failure()
            raise
        self._failures = 0
        return audio

    def _bits(self, payload: Payload | NDArray[np.integer[Any]]) -> int:
        """Return the size of a payload in bits; raise CodingFailed unless tokens are those of the card."""
        if isinstance(payload, bytes):
            return 8 * len(payload)
        rows, size = self.card.codebooks, self.card.codebook_size
        if rows is None or size is None:
            raise CodingFailed(f"{self.card.name}: expected bytes, its card has no codebooks; got an array")
        shape = payload.shape
        if payload.dtype.kind not in "iu" or len(shape) != 2 or shape[0] != rows or not payload.size:  # noqa: PLR2004 - two axes
            raise CodingFailed(
                f"{self.card.name}: expected integer tokens ({rows}, frames), got {payload.dtype} {shape}"
            )
        low, high = int(payload.min()), int(payload.max())
        if low < 0 or high >= size:
            raise CodingFailed(f"{self.card.name}: expected tokens from 0 to {size - 1}, got {low} to {high}")
        return ceil(payload.size * log2(size) - 1e-9)

    def _running(self) -> WorkerProcess:
        """Return the worker, starting one where there is none."""
        if self._worker is None:
            if self._failures >= FAILURES_IN_A_ROW:
                raise CodecUnusable(
                    f"{self.card.name}: its worker died {self._failures} times in a row, the run stops here; the rows "
                    "of the clips say why. What is finished is kept"
                )
            self._worker = self._start()
        return self._worker

    def _start(self) -> WorkerProcess:
        python = ensure(open_lock(self._isolation.lock)).python
        worker = WorkerProcess([str(python), "-I", "-X", "utf8", str(WORKER)], Patience(call=self._isolation.timeout_s))
        try:
            worker.load(self._guest, self.card.model_dump(mode="json"), self._device)
        except (GuestFailed, WorkerDied) as error:
            worker.bury()
            raise CodecUnusable(f"{self.card.name} cannot be opened: {error}") from error
        except BaseException:
            worker.bury()
            raise
        return worker

    def _count_failure(self) -> None:
        """Remove a dead worker; the next clip starts another."""
        self._failures += 1
        self.close()


def guest_file(isolation: Isolation) -> Path:
    """Return the module that runs inside. Raises CatalogueError when there is none."""
    name = isolation.guest
    path = Path(name) if "/" in name else GUESTS / f"{name}.py"
    if not path.is_file():
        known = sorted(file.stem for file in GUESTS.glob("[a-z]*.py"))
        raise CatalogueError(f"no guest {name}: expected one of {', '.join(known)}, or a path")
    return path


def _isolation_of(card: Card) -> Isolation:
    if card.isolation is None:
        raise CatalogueError(f"{card.name} runs isolated, but its card has no `isolation` with lock and guest")
    return card.isolation
