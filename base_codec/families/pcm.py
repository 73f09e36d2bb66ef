"""Convert float32 audio to the sample formats of libraries and back, on one fixed grid.

Full scale is 1.0: an integer format of ``b`` bits holds ``x * 2**(b - 1)``, rounded to nearest, without dither.
Values outside [-1, 1) saturate, as in any converter; float formats keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.fitting import Audio, pieces


def to_int16(audio: Audio) -> NDArray[np.int16]:
    """Quantise to 16 bits."""
    scaled: Audio = np.clip(np.rint(audio * np.float32(2**15)), -(2**15), 2**15 - 1)
    return scaled.astype(np.int16)


def to_int24(audio: Audio) -> NDArray[np.int32]:
    """Quantise to 24 bits, in the upper bits of 32, which is how FFmpeg's ``s32`` carries them."""
    scaled = np.clip(np.rint(audio.astype(np.float64) * 2**23), -(2**23), 2**23 - 1)
    # FFmpeg's s32 has 24-bit samples in its upper bits
    return np.left_shift(scaled.astype(np.int32), 8)


def to_uint8(audio: Audio) -> NDArray[np.uint8]:
    """Quantise to 8 bits, which FFmpeg and RIFF hold unsigned, with silence at 128."""
    scaled: Audio = np.clip(np.rint(audio * np.float32(2**7)), -(2**7), 2**7 - 1) + np.float32(2**7)
    return scaled.astype(np.uint8)


def is_16_bit(audio: Audio) -> bool:
    """Whether every sample lies on the grid of 16 bits, as those of a 16-bit recording do."""
    return all(np.array_equal(from_pcm(to_int16(audio[:, its])), audio[:, its]) for its in pieces(audio.shape[1]))


def round_to_16_bit(audio: Audio) -> None:
    """Move every sample of ``audio`` to the grid of 16 bits, in place."""
    for its in pieces(audio.shape[1]):
        audio[:, its] = from_pcm(to_int16(audio[:, its]))


_CONVERSIONS: dict[str, Callable[[Audio], NDArray[Any]]] = {
    "u8": to_uint8,
    "s16": to_int16,
    "s32": to_int24,
    "flt": lambda audio: audio,
    "dbl": lambda audio: audio.astype(np.float64),
}
SAMPLE_FORMATS = frozenset(f"{kind}{order}" for kind in _CONVERSIONS for order in ("", "p"))
"""FFmpeg's names of the formats that :func:`to_format` converts to: packed, and planar (``p``)."""


def to_format(audio: Audio, sample_format: str) -> NDArray[Any]:
    """Convert to one of :data:`SAMPLE_FORMATS`; ``s32`` holds 24 bits."""
    return _CONVERSIONS[sample_format.removesuffix("p")](audio)


def from_pcm(samples: NDArray[Any]) -> Audio:
    """Convert uint8, int16, int32 or float samples to float32 with full scale 1.0."""
    if samples.dtype == np.uint8:
        return (samples.astype(np.float32) - np.float32(2**7)) / np.float32(2**7)
    if samples.dtype == np.int16:
        return samples.astype(np.float32) / np.float32(2**15)
    if samples.dtype == np.int32:
        # float32 holds 24 of the 32 bits: divided first, rounded once
        return (samples.astype(np.float64) / 2**31).astype(np.float32)
    return samples.astype(np.float32, copy=False)
