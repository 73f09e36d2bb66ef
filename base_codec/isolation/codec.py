"""A codec whose packages are installed in a private environment: forwards each call to a worker process there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card, Isolation
from codec_superb.base_codec.counting import Counted
from codec_superb.base_codec.errors import CatalogueError, CodingFailed
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets
from codec_superb.base_codec.isolation.cuda import refuse_cuda
from codec_superb.base_codec.isolation.host import GuestHost
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.isolation.process import Payload, WorkerProcess
from codec_superb.base_codec.isolation.user_weights import SETTING

T = TypeVar("T")


class IsolatedCodec(Codec):
    """Runs the guest that the card's ``isolation`` names, in the environment that its lock describes."""

    def __init__(self, card: Card, folder: Path | None = None) -> None:
        """Take ``folder``, the user's own weights; its path is passed to the guest and not written to the card."""
        super().__init__(card)
        description = card.model_dump(mode="json")
        if folder is not None:
            description["settings"] = {**description["settings"], SETTING: str(folder)}
        self._host = GuestHost(card.name, _isolation_of(card), description)

    def load(self, device: str = "cpu") -> Self:
        """Build the environment where it is missing, start a worker in it and open the model.

        Hash and revision of the publisher's weights are then added to the card where it has none.
        Raises EnvironmentFailed, RefusedSetting for ``cuda`` where the lock has no packages for it or the machine no
        graphics card that they run on, CodecUnusable when the model cannot be opened.
        """
        if device == "cuda":
            refuse_cuda(open_lock(_isolation_of(self.card).lock, device))
        self._host.start(device)
        if self.card.weights is not None:
            weights = self.card.weights.model_copy(update=self._host.weights)
            self.card = self.card.model_copy(update={"weights": weights})
        return self

    def wake(self) -> None:
        """Start another worker and open the model in it if the last one died."""
        self._host.restart()

    def close(self) -> None:
        """End the worker."""
        self._host.close()

    @property
    def worker(self) -> WorkerProcess | None:
        """The running worker, None where there is none."""
        return self._host.worker

    @property
    def gains_from_batches(self) -> bool:
        """Whether the guest takes several clips at once; known once it is loaded."""
        return bool(self._host.batches)

    def _counted(self, call: Callable[[], T]) -> tuple[T, Counted]:
        """Call with a worker that counts what its guest computes."""
        self.wake()
        worker = self.worker
        if worker is None:
            return super()._counted(call)
        worker.count, worker.counted = True, None
        try:
            result = call()
        finally:
            worker.count = False
        return result, worker.counted or Counted(None, reason="its worker did not count")

    def _encode(self, audio: Audio) -> Packets:
        return self._encode_together([audio])[0]

    def _decode(self, packets: Packets, channels: int) -> Audio:
        return self._decode_together([packets], channels)[0]

    def _encode_batch(self, audios: Sequence[Audio]) -> list[Packets]:
        if "encode" in self._host.batches:
            return self._encode_together(audios)
        return super()._encode_batch(audios)

    def _decode_batch(self, received: Sequence[tuple[Packets, int]]) -> list[Audio]:
        channels = {count for _, count in received}
        if "decode" in self._host.batches and len(channels) == 1:
            return self._decode_together([packets for packets, _ in received], *channels)
        return super()._decode_batch(received)

    def _encode_together(self, audios: Sequence[Audio]) -> list[Packets]:
        found = self._host.ask(lambda worker: worker.encode(audios), "encode", len(audios))
        return [Packets(payload, self._bits(payload) + 8 * len(side), side=side) for payload, side in found]

    def _decode_together(self, batch: Sequence[Packets], channels: int) -> list[Audio]:
        # tokens from a file may be of any shape: checked here, since a guest might index beyond its tables
        for packets in batch:
            self._bits(packets.payload)
        asked = [(packets.payload, packets.side) for packets in batch]
        return self._host.ask(lambda worker: worker.decode(asked, channels), "decode", len(batch))

    def _bits(self, payload: Payload | NDArray[np.integer[Any]]) -> int:
        """Return the size of a payload in bits; raise CodingFailed unless tokens are those of the card."""
        if isinstance(payload, bytes):
            return 8 * len(payload)
        sizes = self.card.codebook_entries
        if sizes is None:
            raise CodingFailed(f"{self.card.name}: expected bytes, its card has no codebooks; got an array")
        shape = payload.shape
        if payload.dtype.kind not in "iu" or len(shape) != 2 or shape[0] != len(sizes) or not payload.size:  # noqa: PLR2004 - two axes
            raise CodingFailed(
                f"{self.card.name}: expected integer tokens ({len(sizes)}, frames), got {payload.dtype} {shape}"
            )
        for row, size in zip(payload, sizes, strict=True):
            low, high = int(row.min()), int(row.max())
            if low < 0 or high >= size:
                raise CodingFailed(f"{self.card.name}: expected tokens from 0 to {size - 1}, got {low} to {high}")
        return self.card.bits_of(shape[1])


def _isolation_of(card: Card) -> Isolation:
    if card.isolation is None:
        raise CatalogueError(f"{card.name} runs isolated, but its card has no `isolation` with lock and guest")
    return card.isolation
