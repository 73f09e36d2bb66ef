"""The codec interface: a wrapper implements ``_encode`` and ``_decode`` at the codec's rate, this class the rest.

Task: a codec turns audio into a payload (bytes or tokens) and back. Conventions:

* audio is float32, shape ``(channels, samples)``, with its rate in Hz beside it; the codec may return values
  outside [-1, 1] and they are kept;
* ``bits`` is the size of the payload *without container overhead*;
* a wrapper states the algorithmic delay of its chain in its card; this class adds that much silence at the end
  before encoding and cuts the delay off after decoding, so output length equals input length;
* a clip that cannot be coded raises, and so does a decoder that returns too few samples; none are replaced by silence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec import fitting
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.counting import Counted, OperationCounter
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting, exit_fails
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.packets import arrived, last_arrived

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded clip: the payload, its size in bits, and what the decoder needs to restore length and channels."""

    payload: bytes | NDArray[np.integer[Any]]
    """Bytes, or an integer token array of shape ``(codebooks, frames)``."""
    bits: int | None
    """Size of the payload in bits, without container overhead; None where it is not known (``Card.bit_source``)."""
    samples: int
    """Length of the input audio, in samples at ``sampling_rate``."""
    sampling_rate: int
    """Sampling rate of the input audio in Hz."""
    channels: int
    """Channels of the audio that :meth:`Codec.decode` returns."""
    frames: tuple[int, ...] = ()
    """Byte lengths of the packets inside ``payload``, for packet codecs."""
    side: bytes = b""
    """Side information of a token codec (such as a loudness for each chunk), counted in ``bits``; or what a container's
    header tells the decoder of a packet codec, such as the depth, which is not."""
    one_step: bool = False
    """Whether ``payload`` is the sound that comes back: the codec encodes and decodes at once."""

    @property
    def tokens(self) -> int | None:
        """Number of tokens over all codebooks, None for a payload of bytes."""
        return None if isinstance(self.payload, bytes) else int(self.payload.size)


@dataclass(frozen=True, slots=True)
class Packets:
    """The return value of a wrapper's ``_encode``: the payload and its size in bits."""

    payload: bytes | NDArray[np.integer[Any]]
    bits: int | None = None
    """None: those of the bytes, or of the tokens where the card has codebooks."""
    frames: tuple[int, ...] = ()
    side: bytes = b""
    one_step: bool = False


class Latents(NamedTuple):
    """What lies between encoder and decoder of a token codec: float32 ``(frames, dimensions)``, a row a token frame."""

    continuous: NDArray[np.float32]
    """As the encoder gives them, before they are quantised."""
    quantised: NDArray[np.float32]
    """As the decoder is given them; they follow from the tokens alone."""


class Codec(ABC):
    """A named codec. Twenty lines of a subclass are enough: ``_encode`` and ``_decode`` at the card's rate."""

    card: Card

    def __init__(self, card: Card | None = None) -> None:
        card = getattr(type(self), "card", None) if card is None else card
        if not isinstance(card, Card):
            raise RefusedSetting(
                f"{type(self).__name__}: expected a card, as a class attribute or as its first argument, such as "
                f'card = Card(name="mine", sampling_rate=24000), got {type(card).__name__}'
            )
        if card.encoder_rates and not self._overrides("_encode_at"):
            raise RefusedSetting(
                f"{card.name}: expected no encoder_rates, since {type(self).__name__} encodes at the card's rate alone "
                f"(it has no _encode_at), got {list(card.encoder_rates)}"
            )
        if card.conceals_loss is not None and not self._overrides("_decode_lossy"):
            raise RefusedSetting(
                f"{card.name}: expected no conceals_loss, since {type(self).__name__} does nothing about lost packets "
                "(it has no _decode_lossy)"
            )
        self.card = card

    def load(self, device: str = "cpu") -> Self:  # noqa: ARG002 - classical codecs run on the CPU
        """Make the codec ready to run on ``device`` (``cpu`` or ``cuda``); classical codecs have nothing to load."""
        return self

    def wake(self) -> None:  # noqa: B027 - optional: most codecs are ready once they are loaded
        """Prepare for the next clip before its encoding time is measured (an isolated codec restarts a dead worker).

        Raises CodecUnusable.
        """

    def close(self) -> None:  # noqa: B027 - optional: most codecs hold nothing
        """Free what ``load`` took."""

    @abstractmethod
    def _encode(self, audio: Audio) -> Packets:
        """Encode ``(channels, samples)`` at ``card.sampling_rate``; ``channels`` is one of ``card.channels``."""

    def _encode_at(self, audio: Audio, rate: int) -> Packets:  # noqa: ARG002 - for codecs with several encoder_rates
        """Encode audio at ``rate``, one of ``card.encoder_rates``; a wrapper whose cards have some overrides this."""
        return self._encode(audio)

    @abstractmethod
    def _decode(self, packets: Packets, channels: int) -> Audio:
        """Decode to ``(channels, samples)`` at ``card.sampling_rate``, without removing the delay."""

    def encode(self, audio: Audio, rate: int) -> Encoded:
        """Encode float32 ``(channels, samples)`` of any rate in Hz, any channel count and at least one sample.

        A channel count that the codec does not take is averaged to mono, other rates are resampled (soxr VHQ).
        Raises :class:`RefusedSetting` for a wrong type, shape or rate, :class:`CodingFailed` for an empty clip,
        for NaN or Inf, and for what the codec itself cannot encode.
        """
        coded = self._coded(audio, rate)
        with exit_fails(self.card.name):
            packets = self._encode_at(coded, self._encoder_rate(rate))
        return self._encoded(packets, audio, rate)

    def _coded(self, audio: Audio, rate: int) -> Audio:
        """Check a clip and convert it to the encoder's rate and channels, padded at its end by the codec's delay."""
        fitting.check_audio(audio, rate)
        own = self._encoder_rate(rate)
        # silence as long as the delay: the end of the clip would not come out otherwise
        silence = ceil(self._delay(rate) * own / self._own_rate(rate))
        return fitting.fit(audio, rate, own, self.card.channels, silence)

    def _encoded(self, packets: Packets, audio: Audio, rate: int) -> Encoded:
        """Add to the packets of ``audio`` what the decoder needs to restore the clip."""
        self._check_packets(packets)
        channels, samples = fitting.channels_out(audio.shape[0], self.card.channels), audio.shape[1]
        bits = self._payload_bits(packets, samples / rate)
        rest = (packets.frames, packets.side, packets.one_step)
        return Encoded(packets.payload, bits, samples, int(rate), channels, *rest)

    def _payload_bits(self, packets: Packets, seconds: float) -> int | None:
        """Return the bits of a clip as the card says: counted, from the declared bitrate, or None."""
        card, payload = self.card, packets.payload
        if card.bit_source == "unknown":
            return None
        if card.bit_source == "declared":
            return round((card.nominal_kbps or 0.0) * 1000 * seconds)
        if packets.bits is not None:
            return packets.bits
        if isinstance(payload, bytes) and not packets.one_step:
            return 8 * len(payload)
        if not isinstance(payload, bytes) and card.codebook_entries is not None:
            self._check_tokens(payload, card.codebook_entries)
            return card.bits_of(payload.shape[1])
        raise CodingFailed(
            f"{card.name}: expected the size of its payload in bits, got none: return Packets(payload, bits=…), state "
            "codebooks and codebook_size in the card, or bit_source='unknown'"
        )

    def decode(self, encoded: Encoded) -> Audio:
        """Return float32 ``(encoded.channels, encoded.samples)`` at ``encoded.sampling_rate``, without the delay.

        Raises :class:`CodingFailed` when the payload cannot be decoded, or when what comes back is too short, has
        other channels or holds NaN or Inf; :class:`RefusedSetting` when the codec is encode-only.
        """
        if self.card.encode_only:
            raise RefusedSetting(f"{self.card.name} only encodes: it has tokens but no resynthesis")
        packets, channels = self._received(encoded)
        with exit_fails(self.card.name):
            decoded = self._decode(packets, channels)
        return self._restored(decoded, encoded)

    def latents(self, audio: Audio, rate: int) -> Latents:
        """Return the latents of a clip, a row for each frame of the tokens that :meth:`encode` gives.

        Optional: a wrapper that has them overrides ``_latents``. Raises RefusedSetting for another, and as
        :meth:`encode`.
        """
        return self._latents(self._coded(audio, rate))

    def _latents(self, audio: Audio) -> Latents:  # noqa: ARG002 - for codecs that have some
        """Return the latents of ``(channels, samples)`` at the rate and in the channels of ``_encode``."""
        kind = "tokens" if self.card.codebooks else "bytes"
        where = f": {kind} are all that its private environment hands out" if self.card.isolation else ""
        raise RefusedSetting(f"{self.card.name} gives {kind} and no latents{where}; name a codec that has them")

    def packet_times(self, encoded: Encoded) -> NDArray[np.float64]:
        """Return when each packet, or each frame of tokens, begins: seconds, ascending from 0.

        Packets are frames of the card where there are as many; otherwise they share the coded time equally. Raises
        RefusedSetting for a payload of bytes without packets.
        """
        if not isinstance(encoded.payload, bytes):
            if not self.card.frame_rate:
                raise RefusedSetting(f"{self.card.name}: expected frame_rate on its card, to say when a frame is lost")
            return np.arange(encoded.payload.shape[1]) / self.card.frame_rate
        if not encoded.frames:
            raise RefusedSetting(f"{self.card.name}: its payload is one stream of bytes, without packets to lose")
        rate, count = encoded.sampling_rate, self._packet_count(encoded)
        seconds = encoded.samples / rate + self._delay(rate) / self._own_rate(rate)
        framed = self.card.frame_rate
        # the last packet is padded, and some encoders add one
        if not framed or abs(count - seconds * framed) > 2:  # noqa: PLR2004
            framed = count / seconds
        return np.arange(count) / framed

    def _packet_count(self, encoded: Encoded) -> int:
        """Count the packets of a payload of bytes; a packet holds all channels."""
        return len(encoded.frames)

    def decode_lossy(self, encoded: Encoded, lost: NDArray[np.bool_]) -> Audio:
        """Decode as :meth:`decode` does where packets did not arrive: ``lost`` has an entry for each of packet_times.

        The card's ``lost_packets`` says what takes their place. Raises as :meth:`packet_times` and :meth:`decode`.
        """
        if self.card.encode_only:
            raise RefusedSetting(f"{self.card.name} only encodes: it has tokens but no resynthesis")
        if lost.shape != self.packet_times(encoded).shape:
            raise RefusedSetting(f"{self.card.name}: expected a mark for each packet, got {lost.shape}")
        if lost.all():  # nothing arrived: no decoder ever started
            return np.zeros((encoded.channels, encoded.samples), dtype=np.float32)
        packets, channels = self._received(encoded)
        return self._restored(self._decode_lossy(packets, lost, channels), encoded)

    def _decode_lossy(self, packets: Packets, lost: NDArray[np.bool_], channels: int) -> Audio:
        """Decode as ``_decode`` does without the packets that ``lost`` marks; some arrived.

        A codec that conceals lost packets itself overrides this, and its card states ``conceals_loss``. Here tokens
        are repeated, and of packets of bytes, which are all as long in time, silence takes the place.
        """
        if not isinstance(packets.payload, bytes):
            return self._decode(replace(packets, payload=packets.payload[:, last_arrived(lost)]), channels)
        pieces = [piece for piece in arrived(packets.payload, packets.frames, lost) if piece is not None]
        decoded = self._decode(replace(packets, payload=b"".join(pieces), frames=tuple(map(len, pieces))), channels)
        length, rest = divmod(decoded.shape[1], len(pieces))
        if rest:
            raise CodingFailed(f"{self.card.name}: expected packets of one length, got {decoded.shape[1]} samples")
        whole = np.zeros((decoded.shape[0], lost.size, length), dtype=np.float32)
        whole[:, ~lost] = decoded.reshape(decoded.shape[0], len(pieces), length)
        return whole.reshape(decoded.shape[0], -1)

    def _received(self, encoded: Encoded) -> tuple[Packets, int]:
        """Return the arguments of the wrapper's decoder: the packets and the number of coded channels."""
        channels = fitting.channels_coded(encoded.channels, self.card.channels)
        return Packets(encoded.payload, encoded.bits, encoded.frames, encoded.side), channels

    def _restored(self, decoded: Audio, encoded: Encoded) -> Audio:
        """Check the decoder's output, remove the delay and convert it to the clip's length, channels and rate."""
        own = self._own_rate(encoded.sampling_rate)
        start, late = fitting.split_delay(self._delay(encoded.sampling_rate), own, encoded.sampling_rate)
        end = start + fitting.resampled_length(encoded.samples + late, encoded.sampling_rate, own)
        self._check_decoded(decoded, fitting.channels_coded(encoded.channels, self.card.channels), end)
        # Rebinding the name frees the decoder's output before the resampled copy is allocated.
        decoded = fitting.restore_channels(decoded[:, start:end], encoded.channels)
        return fitting.resample(decoded, own, encoded.sampling_rate, encoded.samples + late)[:, late:]

    def _own_rate(self, rate: int) -> int:
        """Rate in Hz of what the decoder returns for audio of ``rate``."""
        return int(rate) if self.card.input_rate else self.card.sampling_rate

    def _encoder_rate(self, rate: int) -> int:
        """Rate in Hz at which the encoder gets audio of ``rate``."""
        return fitting.nearest_rate(int(rate), self.card.encoder_rates or (self._own_rate(rate),))

    def _delay(self, rate: int) -> float:  # noqa: ARG002 - for codecs whose delay depends on it
        """Delay of the chain for audio of ``rate``, in samples at the decoder's rate."""
        return self.card.delay_samples or 0

    def _check_packets(self, made: Any) -> None:
        """Raise :class:`CodingFailed` unless the encoder returned Packets."""
        if not isinstance(made, Packets):
            remedy = "end it with `return Packets(payload)`" if made is None else "return Packets(payload)"
            raise CodingFailed(f"{self.card.name}: _encode returned {type(made).__name__}: {remedy}")

    def _check_tokens(self, payload: Any, entries: Sequence[int]) -> None:
        """Raise :class:`CodingFailed` for tokens that hold more than the bits that are counted of them."""
        shape, kind = np.shape(payload), getattr(payload, "dtype", np.dtype(object)).kind
        fits = kind in "iu" and len(shape) == 2 and shape[0] == len(entries)  # noqa: PLR2004 - two axes
        if not fits or (shape[1] and ((payload.max(axis=1) >= np.array(entries)).any() or payload.min() < 0)):
            got = f"{getattr(payload, 'dtype', type(payload).__name__)} {shape}"
            got += f", {payload.min()} to {payload.max()}" if fits else ""
            raise CodingFailed(
                f"{self.card.name}: expected integer tokens ({len(entries)}, frames) of codebooks of "
                f"{', '.join(map(str, dict.fromkeys(entries)))} entries, from 0; got {got}"
            )

    def _check_decoded(self, decoded: Any, channels: int, samples: int) -> None:
        """Raise :class:`CodingFailed` unless ``decoded`` is finite, ``(channels, at least samples)``, float32."""
        expected = f"{self.card.name}: expected float32 ({channels}, at least {samples}) from the decoder"
        shape = np.shape(decoded)
        if getattr(decoded, "dtype", None) != np.float32 or len(shape) != 2 or shape[0] != channels:  # noqa: PLR2004 - two axes
            raise CodingFailed(f"{expected}, got {_got(decoded)}")
        if shape[1] < samples:
            raise CodingFailed(f"{expected}, got {shape}: it lost audio")
        if fitting.non_finite(decoded):
            raise CodingFailed(f"{expected}, got NaN or Inf")

    def encode_counted(self, audio: Audio, rate: int) -> tuple[Encoded, Counted]:
        """Encode as :meth:`encode` does, and count the operations. Raises as it does."""
        return self._counted(lambda: self.encode(audio, rate))

    def decode_counted(self, encoded: Encoded) -> tuple[Audio, Counted]:
        """Decode as :meth:`decode` does, and count the operations. Raises as it does."""
        return self._counted(lambda: self.decode(encoded))

    def _counted(self, call: Callable[[], T]) -> tuple[T, Counted]:
        """Call and count; a codec that computes elsewhere than in torch and in this process overrides this."""
        with OperationCounter() as counter:
            result = call()
        return result, counter.found()

    @property
    def gains_from_batches(self) -> bool:
        """Whether the wrapper implements batches; any other codec codes a batch clip by clip."""
        return self._overrides("_encode_batch") or self._overrides("_decode_batch")

    def _overrides(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Codec, method)

    def encode_batch(self, audios: Sequence[Audio], rate: int) -> list[Encoded]:
        """Encode several clips of one rate; the payloads are the same as those of single calls of :meth:`encode`."""
        coded = [self._coded(audio, rate) for audio in audios]
        with exit_fails(self.card.name):
            if self.card.encoder_rates or self.card.input_rate:  # a model that gains from batches has one rate
                packets = [self._encode_at(each, self._encoder_rate(rate)) for each in coded]
            else:
                packets = self._encode_batch(coded)
        return [self._encoded(its, audio, rate) for its, audio in zip(packets, audios, strict=True)]

    def decode_batch(self, batch: Sequence[Encoded]) -> list[Audio]:
        """Decode several payloads; the audio is the same as that of single calls of :meth:`decode`."""
        if self.card.encode_only:
            raise RefusedSetting(f"{self.card.name} only encodes: it has tokens but no resynthesis")
        with exit_fails(self.card.name):
            decoded = self._decode_batch([self._received(encoded) for encoded in batch])
        return [self._restored(audio, encoded) for audio, encoded in zip(decoded, batch, strict=True)]

    def _encode_batch(self, audios: Sequence[Audio]) -> list[Packets]:
        """Encode several clips as ``_encode`` does each; codecs that gain from a batch override this."""
        return [self._encode(audio) for audio in audios]

    def _decode_batch(self, received: Sequence[tuple[Packets, int]]) -> list[Audio]:
        """Decode several payloads as ``_decode`` does each; codecs that gain from a batch override this."""
        return [self._decode(packets, channels) for packets, channels in received]


def _got(decoded: Any) -> str:
    """Describe what a decoder returned that is no float32 of two axes, and say what to change."""
    if decoded is None:
        return "None: end _decode with `return`"
    dtype, shape = getattr(decoded, "dtype", None), np.shape(decoded)
    if not isinstance(decoded, np.ndarray):
        return f"{type(decoded).__name__} {shape}: return an array of numpy"
    remedy = ": return it as .astype('float32')" if decoded.dtype.kind == "f" and dtype != np.float32 else ""
    remedy = ": return samples with full scale 1.0 as float32" if decoded.dtype.kind in "iu" else remedy
    return f"{dtype} {shape}{remedy or (': return it as array[None]' if decoded.ndim == 1 else '')}"


class CheckpointCodec(Codec):
    """A codec whose trained parameters lie in a folder, which :mod:`codec_superb.base_codec.weights` finds."""

    def __init__(self, card: Card, folder: Path) -> None:
        super().__init__(card)
        self.folder = folder

    @classmethod
    def weights_files(cls) -> tuple[str, ...]:
        """Return the names of the files in ``folder`` that ``load`` reads; a codec given as a file overrides this."""
        return "config.json", "model.safetensors"
