"""AMR through libavcodec, with the concealment of lost frames that its standard describes.

The storage format (RFC 4867, section 5) marks a frame that did not arrive by the frame type NO_DATA; the decoder then
repeats the parameters of the last good frame and fades them out (3GPP TS 26.091, AMR-NB).
"""

from __future__ import annotations

from codec_superb.base_codec.families.libav import LibavCodec

NO_DATA = 15
"""Frame type, in bits 3 to 6 of the header octet; bit 2 says that nothing is damaged."""


class AmrCodec(LibavCodec):
    """AMR at one rate."""

    LOST_PACKET = bytes([NO_DATA << 3 | 1 << 2])
