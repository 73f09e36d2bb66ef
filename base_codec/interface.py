"""The codec contract: a wrapper supplies ``_encode`` and ``_decode`` at its own rate, this class does the rest.

Task: a codec turns audio into a payload (bytes or tokens) and back. Conventions:

* audio is float32, shape ``(channels, samples)``, with its rate in Hz beside it; the codec may return values
  outside [-1, 1] and they are kept;
* ``bits`` is the size of the payload *without container overhead*;
* the wrapper states its algorithmic delay in its card and removes it; output length equals input length;
* one bad clip raises; it never returns silence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card

Audio = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """What a codec sends: its payload, the payload's size, and what the decoder must know to restore the length."""

    payload: bytes | NDArray[np.integer[Any]]
    """Bytes, or an integer token array of shape ``(codebooks, frames)``."""
    bits: int
    """Size of the payload in bits, without container overhead."""
    samples: int
    """Length of the audio that was given, in samples at ``sampling_rate``."""
    sampling_rate: int
    """Rate of the audio that was given, in Hz."""
    channels: int
    """Channels of the audio that :meth:`Codec.decode` returns."""
    frames: tuple[int, ...] = ()
    """Byte lengths of the packets inside ``payload``, for packet codecs."""

    @property
    def tokens(self) -> int | None:
        """Number of tokens over all codebooks, None for a payload of bytes."""
        return None if isinstance(self.payload, bytes) else int(self.payload.size)


@dataclass(frozen=True, slots=True)
class Packets:
    """What a wrapper's ``_encode`` returns: the payload at the codec's own rate, and its size in bits."""

    payload: bytes | NDArray[np.integer[Any]]
    bits: int
    frames: tuple[int, ...] = ()


class Codec(ABC):
    """A named codec. Twenty lines of a subclass are enough: ``_encode`` and ``_decode`` at the card's rate."""

    def __init__(self, card: Card) -> None:
        self.card = card

    def load(self, device: str = "cpu") -> Self:  # noqa: ARG002 - classical codecs run on the CPU
        """Make the codec ready to run on ``device`` (``cpu`` or ``cuda``); classical codecs have nothing to load."""
        return self

    def close(self) -> None:  # noqa: B027 - optional: most codecs hold nothing
        """Free what ``load`` took."""

    @abstractmethod
    def _encode(self, audio: Audio) -> Packets:
        """Encode ``(channels, samples)`` at ``card.sampling_rate``; ``channels`` is one of ``card.channels``."""

    @abstractmethod
    def _decode(self, packets: Packets, channels: int) -> Audio:
        """Decode to ``(channels, samples)`` at ``card.sampling_rate``, the delay still in it."""

    def encode(self, audio: Audio, rate: int) -> Encoded:
        """Encode audio of any rate, channel count and length of at least one sample."""
        raise NotImplementedError  # the codec branch: validate, fit channels, resample, pad the tail by the delay

    def decode(self, encoded: Encoded) -> Audio:
        """Return float32 ``(encoded.channels, encoded.samples)`` at ``encoded.sampling_rate``, without the delay."""
        raise NotImplementedError

    def encode_batch(self, audios: Sequence[Audio], rate: int) -> list[Encoded]:
        """Encode several clips of one rate; codecs that gain from a batch override this."""
        return [self.encode(audio, rate) for audio in audios]

    def decode_batch(self, batch: Sequence[Encoded]) -> list[Audio]:
        """Decode several payloads; codecs that gain from a batch override this."""
        return [self.decode(encoded) for encoded in batch]
