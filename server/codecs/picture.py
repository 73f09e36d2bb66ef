"""Spectrograms as small PNG files with a palette; colours are the same on light and dark pages."""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codec_superb.server.codecs.spectrogram import FLOOR, Grid

DIFFERENCE: Final = 30.0
"""dB at either end of the colours of a difference."""
_STEPS: Final = 64
"""Colours of a palette: a step is 1.25 dB of level, less than a dB of difference."""
_LEVEL = (
    (0, 0, 4), (40, 17, 89), (101, 26, 128), (159, 47, 127), (217, 70, 107), (247, 113, 92), (254, 174, 119),
    (252, 253, 191),
)  # fmt: skip
"""From silent to loud; lightness rises evenly, so that it is read without colours too."""
_CHANGE = (
    (186, 222, 255), (96, 158, 224), (42, 84, 140), (24, 27, 32), (140, 72, 22), (226, 130, 52), (255, 214, 164),
)  # fmt: skip
"""From lost (blue) over equal (dark, like silence in the other pictures) to added (orange)."""


def level_picture(levels: Grid) -> bytes:
    """Draw levels in dB as PNG: :data:`~codec_superb.server.codecs.spectrogram.FLOOR` is black, 0 is nearly white."""
    return _picture((levels - FLOOR) / -FLOOR, _palette(_LEVEL))


def difference_picture(reference: Grid, resynthesis: Grid) -> bytes:
    """Draw the level difference of resynthesis and reference in dB as PNG: more is orange, less is blue.

    Both are levels above the same floor: what is silent in both is equal.
    """
    return _picture((resynthesis - reference + DIFFERENCE) / (2 * DIFFERENCE), _palette(_CHANGE))


def _picture(shares: NDArray[np.floating[Any]], palette: NDArray[np.uint8]) -> bytes:
    """Write shares (0 to 1, one a pixel, top row first) as a PNG of 8 bits a pixel."""
    import av

    numbers = np.clip(np.round(shares * (_STEPS - 1)), 0, _STEPS - 1).astype(np.uint8)
    both: Any = (numbers, palette)  # PyAV takes arrays for this format, which its type stubs omit
    frame = av.VideoFrame.from_ndarray(both, format="pal8")
    codec = av.CodecContext.create("png", "w")
    assert isinstance(codec, av.VideoCodecContext)
    codec.height, codec.width = numbers.shape
    codec.pix_fmt = "pal8"
    codec.options = {"pred": "none"}  # the PNG specification recommends filter type 0 for indexed colours
    out = io.BytesIO()
    for packet in (*codec.encode(frame), *codec.encode(None)):
        out.write(bytes(packet))
    return out.getvalue()


def _palette(stops: tuple[tuple[int, int, int], ...]) -> NDArray[np.uint8]:
    """Mix the stops to 256 colours, alpha first; only the first :data:`_STEPS` are used."""
    places = np.linspace(0, len(stops) - 1, _STEPS)
    mixed = np.stack([np.interp(places, range(len(stops)), channel) for channel in np.transpose(stops)], axis=1)
    palette = np.zeros((256, 4), dtype=np.uint8)
    palette[:, 0] = 255
    palette[:_STEPS, 1:] = mixed.round()
    return palette
