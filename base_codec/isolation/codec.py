"""A codec whose packages live in an environment of their own: forwards to a worker there."""

from __future__ import annotations

from math import ceil, log2
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card, Isolation
from codec_superb.base_codec.errors import CatalogueError, CodingFailed, RefusedSetting
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets
from codec_superb.base_codec.isolation.host import GuestHost
from codec_superb.base_codec.isolation.process import Payload, WorkerProcess


class IsolatedCodec(Codec):
    """Runs the guest that the card's ``isolation`` names, in the environment that its lock describes."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self._host = GuestHost(card.name, _isolation_of(card), card.model_dump(mode="json"))

    def load(self, device: str = "cpu") -> Self:
        """Build the environment where there is none, start a worker in it and open the model.

        Raises EnvironmentFailed, RefusedSetting for a device the lock has no packages for, CodecUnusable when the
        model cannot be opened.
        """
        if device != "cpu":
            raise RefusedSetting(f"{self.card.name}: its locked packages run on the cpu, got device {device!r}")
        self._host.start(device)
        return self

    def close(self) -> None:
        """End the worker."""
        self._host.close()

    @property
    def worker(self) -> WorkerProcess | None:
        """The worker that runs now."""
        return self._host.worker

    def _encode(self, audio: Audio) -> Packets:
        payload = self._host.ask(lambda worker: worker.encode(audio))
        return Packets(payload, self._bits(payload))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        self._bits(packets.payload)
        return self._host.ask(lambda worker: worker.decode(packets.payload, channels))

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


def _isolation_of(card: Card) -> Isolation:
    if card.isolation is None:
        raise CatalogueError(f"{card.name} runs isolated, but its card has no `isolation` with lock and guest")
    return card.isolation
