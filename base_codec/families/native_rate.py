"""Codecs that encode at the clip's own rate by another library or program, and that FFmpeg decodes at that rate.

The encoder writes a container, from which the codec's own packets are taken: these are the payload, and its bits are
counted without pages, tags and seek tables. What the container's head tells the decoder (the rate, the codec's set-up
header) travels as ``side`` and is not counted: it does not depend on the clip.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from codec_superb.base_codec.families.libav import LAYOUTS, decode_packets, new_context, open_context
from codec_superb.base_codec.fitting import Audio, nearest_rate
from codec_superb.base_codec.interface import Codec, Packets
from codec_superb.base_codec.packets import split_packets

_RATE_BYTES = 4


class NativeRateCodec(Codec):
    """A codec whose card has ``encoder_rates`` and whose decoder answers at the encoder's."""

    decoder: ClassVar[str]
    """FFmpeg's name of it."""

    @abstractmethod
    def _coded_packets(self, audio: Audio, rate: int) -> tuple[bytes, Sequence[bytes]]:
        """Encode at ``rate``: return the set-up header, and the packets."""

    def _own_rate(self, rate: int) -> int:
        return nearest_rate(int(rate), self.card.encoder_rates)

    def _encode(self, audio: Audio) -> Packets:
        return self._encode_at(audio, self.card.sampling_rate)

    def _encode_at(self, audio: Audio, rate: int) -> Packets:
        setup, packets = self._coded_packets(audio, rate)
        payload = b"".join(packets)
        side = rate.to_bytes(_RATE_BYTES, "little") + setup
        return Packets(payload, 8 * len(payload), tuple(map(len, packets)), side)

    def _decode(self, packets: Packets, channels: int) -> Audio:
        context = new_context(self.decoder, "r")
        context.sample_rate = int.from_bytes(packets.side[:_RATE_BYTES], "little")
        context.layout = LAYOUTS[channels]
        context.extradata = packets.side[_RATE_BYTES:]
        # skip_manual: the whole delay of the chain is the card's
        open_context(context, {"flags2": "+skip_manual"}, self.card.name)
        return decode_packets(context, split_packets(packets.payload, packets.frames), self.card.name)
