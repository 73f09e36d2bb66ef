"""Convert float32 audio to the sample formats of libraries and back, on one fixed grid.

Full scale is 1.0: an integer format of ``b`` bits holds ``x * 2**(b - 1)``, rounded to nearest, without dither.
Values outside [-1, 1) saturate, as in any converter; float formats keep them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.fitting import Audio


def to_int16(audio: Audio) -> NDArray[np.int16]:
    """Quantise to 16 bits."""
    scaled: Audio = np.clip(np.rint(audio * np.float32(2**15)), -(2**15), 2**15 - 1)
    return scaled.astype(np.int16)


def to_int24(audio: Audio) -> NDArray[np.int32]:
    """Quantise to 24 bits, in the upper bits of 32, which is how FFmpeg's ``s32`` carries them."""
    scaled = np.clip(np.rint(audio.astype(np.float64) * 2**23), -(2**23), 2**23 - 1)
    return np.left_shift(scaled.astype(np.int32), 8)


def to_format(audio: Audio, sample_format: str) -> NDArray[Any]:
    """Convert to an FFmpeg sample format: ``s16``, ``s32`` (24 bits) or ``flt``, packed or planar (``p``)."""
    kind = sample_format.removesuffix("p")
    if kind == "s16":
        return to_int16(audio)
    if kind == "s32":
        return to_int24(audio)
    if kind == "flt":
        return audio
    raise ValueError(f"expected one of s16, s32, flt (or s16p, s32p, fltp), got {sample_format}")


def from_pcm(samples: NDArray[Any]) -> Audio:
    """Convert int16, int32 or float samples to float32 with full scale 1.0."""
    if samples.dtype == np.int16:
        return samples.astype(np.float32) / np.float32(2**15)
    if samples.dtype == np.int32:
        return (samples.astype(np.float64) / 2**31).astype(np.float32)
    return samples.astype(np.float32, copy=False)
