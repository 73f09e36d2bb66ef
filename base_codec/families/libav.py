"""Codecs of FFmpeg's libavcodec through PyAV: packets in memory, no container.

Conventions:

* a clip is encoded by a fresh encoder and decoded by a fresh decoder, each on one thread with ``bitexact``, so the
  same clip always gives the same bits;
* the payload is the codec's own packets, one after the other. Out-of-band setup (``extradata``: AAC's
  AudioSpecificConfig, FLAC's STREAMINFO, the Opus head) follows from the card, and from the sample format where there
  are two (``side``): the decoder rebuilds it by opening the same encoder, and its few bytes are not counted;
* decoders must not skip priming samples by themselves (``skip_manual``): the whole delay of the chain is the card's;
* a frame header that is part of the codec's own bitstream (MP3, AC-3, Opus TOC) is counted. AMR-NB packets carry
  the one-octet frame header of the RFC 4867 *storage* format and pad the last octet: there only the speech bits of
  the frame type are counted, which gives the standard's own rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Literal

import av
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.pcm import SAMPLE_FORMATS, from_pcm, is_16_bit, round_to_16_bit, to_format
from codec_superb.base_codec.fitting import PIECE, Audio
from codec_superb.base_codec.interface import Codec, Packets
from codec_superb.base_codec.packets import arrived

LAYOUTS = {1: "mono", 2: "stereo"}
# 3GPP TS 26.101: speech bits of frame types 0 to 7 (4.75 to 12.2 kbit/s) and of the comfort-noise frame 8.
AMR_NB_BITS = (95, 103, 118, 134, 148, 159, 204, 244, 39)


class LibavSettings(BaseModel):
    """What a card's ``settings`` may hold for a codec of this family."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str
    decoder: str
    sample_format: str
    pcm16_format: str | None = None
    """Sample format for a clip whose samples are of 16 bits: an encoder that is given more spends bits on them."""
    delays: dict[int, float] = Field(default_factory=dict)
    """Delay where it is not the card's, by the rate in Hz at which the encoder gets the clip."""
    bit_rate: int | None = None
    """Bits per second over all channels; None where the rate and the format fix it."""
    bit_rates: tuple[int, ...] = ()
    """Bitrates of the standard, where the library silently takes the nearest; empty where the library refuses."""
    options: dict[str, str] = Field(default_factory=dict)
    decoder_options: dict[str, str] = Field(default_factory=dict)
    block: int | None = None
    """Samples given to the encoder at a time; None for the frame size that the encoder asks for."""
    granule: int | None = None
    """The last block is padded with silence to a multiple of this; None for a whole block."""
    lead_blocks: int = 0
    """Blocks of silence before the clip, for a decoder that cannot reconstruct its first block."""
    gain: float = Field(default=1.0, gt=0)
    """Gain before the encoder, undone after the decoder: headroom for an encoder that wraps around on overload."""
    counting: Literal["bytes", "amr_nb"] = "bytes"


class LibavCodec(Codec):
    """One libavcodec encoder at one setting, with its decoder."""

    LOST_PACKET: bytes | None = None
    """What tells the decoder of a lost packet; None where nothing does, and silence takes its place."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self._settings = _checked_settings(card)
        self._setups: dict[tuple[int, str], bytes] = {}

    def _coded(self, audio: Audio, rate: int) -> Audio:
        coded = super()._coded(audio, rate)
        # resampled or mixed, a recording of 16 bits is handed over in 16 bits, as by FFmpeg's programs and opusenc
        if self._settings.pcm16_format is not None and is_16_bit(audio):
            round_to_16_bit(coded)
        return coded

    def _delay(self, rate: int) -> float:
        return self._settings.delays.get(self._encoder_rate(rate), self.card.delay_samples or 0)

    def _encode(self, audio: Audio) -> Packets:
        return self._encode_at(audio, self.card.sampling_rate)

    def _encode_at(self, audio: Audio, rate: int) -> Packets:
        settings = self._settings
        sample_format = settings.pcm16_format if settings.pcm16_format and is_16_bit(audio) else settings.sample_format
        # a lossless codec is told the card's rate for all clips: its decoder is set up by the card
        rate = rate if self.card.encoder_rates else self.card.sampling_rate
        try:
            encoder = self._open_encoder(audio.shape[0], rate, sample_format)
            blocks = self._blocks(audio, settings.block or encoder.frame_size or 1024, rate, sample_format)
            packets = [bytes(packet) for frame in blocks for packet in encoder.encode(frame)]
            # None drains an encoder: those with look-ahead hold frames back
            packets += [bytes(packet) for packet in encoder.encode(None)]
        except av.FFmpegError as error:
            raise CodingFailed(f"{self.card.name}: {settings.encoder} could not encode: {error}") from error
        packets = [packet for packet in packets if packet]  # FLAC ends with an empty one that only updates its header
        side = sample_format.encode() if settings.pcm16_format else b""
        return Packets(b"".join(packets), self._count_bits(packets), tuple(map(len, packets)), side)

    def _decode(self, packets: Packets, channels: int) -> Audio:
        return self._decode_lossy(packets, np.zeros(len(packets.frames), dtype=np.bool_), channels)

    def _decode_lossy(self, packets: Packets, lost: NDArray[np.bool_], channels: int) -> Audio:
        """Decode packet by packet; a lost one is replaced by :attr:`LOST_PACKET`, or by as much silence."""
        pieces = [piece or self.LOST_PACKET for piece in arrived(packets.payload, packets.frames, lost)]
        decoder = self._open_decoder(channels, next(filter(None, pieces)), packets.side)
        audio = decode_packets(decoder, pieces, self.card.name)
        self._check_rate(decoder.sample_rate)
        audio /= np.float32(self._settings.gain)
        return audio

    def _open_encoder(self, channels: int, rate: int, sample_format: str) -> av.AudioCodecContext:
        """Open a fresh encoder. Raises RefusedSetting where libavcodec refuses a setting of the card."""
        settings = self._settings
        context = new_context(settings.encoder, "w")
        context.sample_rate = rate
        context.layout = LAYOUTS[channels]
        context.format = sample_format
        # times of frames count samples
        context.time_base = Fraction(1, rate)
        if settings.bit_rate is not None:
            context.bit_rate = settings.bit_rate
        # bitexact: no version of libavcodec in the payload
        open_context(context, {"flags": "+bitexact", **settings.options}, self.card.name)
        return context

    def _open_decoder(self, channels: int, first: bytes, side: bytes) -> av.AudioCodecContext:
        """Open a fresh decoder with the parameters that a container would carry."""
        settings = self._settings
        context = new_context(settings.decoder, "r")
        context.sample_rate = self.card.sampling_rate
        context.layout = LAYOUTS[channels]
        if settings.bit_rate is not None:
            context.bit_rate = settings.bit_rate
        setup = self._setup(channels, side.decode() or settings.sample_format)
        if setup:
            context.extradata = setup
        # Containers give the packet size as block_align; WMA and IMA ADPCM do not open without it.
        # skip_manual: FFmpeg cuts the delay off by itself otherwise, and the base class would cut it twice
        options = {"flags2": "+skip_manual", "block_align": str(len(first)), **settings.decoder_options}
        open_context(context, options, self.card.name)
        return context

    def _setup(self, channels: int, sample_format: str) -> bytes:
        """Return the out-of-band setup (extradata) of the stream, which follows from the card and the sample format."""
        if (channels, sample_format) not in self._setups:
            encoder = self._open_encoder(channels, self.card.sampling_rate, sample_format)
            self._setups[channels, sample_format] = bytes(encoder.extradata or b"")
        return self._setups[channels, sample_format]

    def _blocks(self, audio: Audio, block: int, rate: int, sample_format: str) -> Iterator[av.AudioFrame]:
        """Cut audio into frames of the encoder's size, with silence up to the end of the last."""
        settings, time_base = self._settings, Fraction(1, rate)
        lead = settings.lead_blocks * block
        # silence up to whole blocks: an encoder may drop a last one that is not full
        end = audio.shape[1] + -(audio.shape[1] + lead) % (settings.granule or block)
        planar = sample_format.endswith("p")
        # converted many blocks at a time: by itself a block of 20 ms takes 10 µs, half of what its encoder does
        together = block * max(1, PIECE // block)
        for first in range(-lead, end, together):
            sound = np.zeros((audio.shape[0], min(together, end - first)), dtype=np.float32)
            part = audio[:, max(0, first) : max(0, first + together)]
            before = max(0, -first)
            sound[:, before : before + part.shape[1]] = part * np.float32(settings.gain)
            converted = to_format(sound, sample_format)
            for place in range(0, sound.shape[1], block):
                piece = converted[:, place : place + block]
                # PyAV takes planar formats as (channels, samples), packed ones as one row of interleaved samples
                rows = np.ascontiguousarray(piece if planar else piece.T.reshape(1, -1))
                frame = av.AudioFrame.from_ndarray(rows, format=sample_format, layout=LAYOUTS[audio.shape[0]])
                frame.sample_rate, frame.pts, frame.time_base = rate, first + place + lead, time_base
                yield frame

    def _count_bits(self, packets: list[bytes]) -> int:
        if self._settings.counting == "amr_nb":
            # RFC 4867: the frame type is in bits 3 to 6 of the first byte; the rest of it and the padding are container
            return sum(AMR_NB_BITS[packet[0] >> 3 & 15] for packet in packets)
        return 8 * sum(map(len, packets))

    def _check_rate(self, rate: int) -> None:
        if rate != self.card.sampling_rate:
            raise CodingFailed(
                f"{self.card.name}: the decoder returned {rate} Hz, expected {self.card.sampling_rate} Hz"
            )


def _checked_settings(card: Card) -> LibavSettings:
    """Validate a card's settings. Raises RefusedSetting saying which one is wrong and what there is."""
    try:
        settings = LibavSettings.model_validate(card.settings)
    except ValidationError as error:
        raise RefusedSetting(f"{card.name}: {error}") from error
    unknown = sorted(set(card.channels) - set(LAYOUTS))
    if unknown:
        raise RefusedSetting(f"{card.name}: expected 1 or 2 channels, got {unknown}")
    if settings.bit_rates and settings.bit_rate not in settings.bit_rates:
        raise RefusedSetting(
            f"{card.name}: {settings.encoder} has no {settings.bit_rate} bit/s, only {list(settings.bit_rates)}"
        )
    codec = new_context(settings.encoder, "w").codec
    possible = sorted({each.name for each in codec.audio_formats or ()} & SAMPLE_FORMATS)
    for sample_format in filter(None, (settings.sample_format, settings.pcm16_format)):
        if sample_format not in possible:
            raise RefusedSetting(
                f"{card.name}: expected a sample_format that {settings.encoder} takes and this family converts to "
                f"({', '.join(possible) or 'there is none'}), got {sample_format}"
            )
    for rate in (card.sampling_rate, *card.encoder_rates):
        if codec.audio_rates and rate not in codec.audio_rates:
            raise RefusedSetting(f"{card.name}: {settings.encoder} has no {rate} Hz, only {sorted(codec.audio_rates)}")
    new_context(settings.decoder, "r")
    return settings


def new_context(name: str, mode: Literal["r", "w"]) -> av.AudioCodecContext:
    """Return an encoder (``w``) or decoder (``r``) that is not open. Raises RefusedSetting where FFmpeg lacks it."""
    try:
        context = av.CodecContext.create(name, mode)
    except av.codec.codec.UnknownCodecError as error:
        what = "encoder" if mode == "w" else "decoder"
        raise RefusedSetting(
            f"this build of FFmpeg (PyAV {av.__version__}) has no {what} {name}: install PyAV's own wheel, "
            "pip install --force-reinstall --only-binary av av"
        ) from error
    if not isinstance(context, av.AudioCodecContext):
        raise RefusedSetting(f"expected an audio codec, got {name}, which is {context.type}")
    return context


def open_context(context: av.AudioCodecContext, options: dict[str, str], user: str) -> None:
    """Open an encoder or decoder on one thread. Raises RefusedSetting where it refuses a setting of codec ``user``."""
    # threads of FFmpeg delay frames and compete with the worker processes
    context.options = {"threads": "1", **options}
    layout = context.layout.name  # gone when opening fails
    try:
        context.open()
    except av.FFmpegError as error:
        raise RefusedSetting(
            f"{user}: {context.name} refuses {context.sample_rate} Hz, {layout}, "
            f"{context.bit_rate or 'its own'} bit/s, {options}: {error.strerror}"
        ) from error
    if context.options:  # PyAV leaves what the codec did not know
        raise RefusedSetting(f"{user}: {context.name} has no option {', '.join(context.options)}")


def decode_packets(decoder: av.AudioCodecContext, packets: Iterable[bytes | None], user: str) -> Audio:
    """Decode to float32 ``(channels, samples)``, with silence of the longest frame's length in place of each None.

    Raises CodingFailed where FFmpeg cannot, naming the codec ``user``.
    """
    try:
        decoded = [None if packet is None else _sounds(decoder, av.Packet(packet)) for packet in packets]
        decoded.append(_sounds(decoder, None))
    except av.FFmpegError as error:
        raise CodingFailed(f"{user}: {decoder.name} could not decode: {error}") from error
    found = [sound for sounds in decoded for sound in sounds or ()]
    if not found:
        raise CodingFailed(f"{user}: {decoder.name} returned no audio")
    silence = [np.zeros_like(max(found, key=lambda sound: sound.shape[1]))]
    audio: Audio = np.concatenate([each for its in decoded for each in (silence if its is None else its)], axis=1)
    return audio


def _sounds(decoder: av.AudioCodecContext, packet: av.Packet[Any] | None) -> list[Audio]:
    return [_sound(frame) for frame in decoder.decode(packet)]


def _sound(frame: av.AudioFrame) -> Audio:
    """Return a decoded frame as ``(channels, samples)``, whether it is planar or packed."""
    samples = frame.to_ndarray()
    return from_pcm(samples if frame.format.is_planar else samples.reshape(-1, len(frame.layout.channels)).T)
