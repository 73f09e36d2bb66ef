"""What is done to a sound before its tokens are compared with those of the sound itself: pure functions.

Sound is mono float32 ``(samples,)`` at the codec's rate. What it does not hold: codings in a row, which need the codec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from codec_superb.applications.interface import Samples
from codec_superb.applications.tokens.table import NOISES
from codec_superb.base_codec import fitting
from codec_superb.metrics.noise.mixing import Inapplicable, mixed
from codec_superb.metrics.noise.random_numbers import gaussian, stream

MP3 = "mp3_128k"
_SHIFTS = (("shift_quarter", 0.25), ("shift_half", 0.5), ("shift_frame", 1.0))
_GAINS = (("louder", 6.0), ("quieter", -6.0))


class Disturbed(NamedTuple):
    """A sound after a disturbance."""

    key: str
    samples: Samples
    frames: int = 0
    """Frames of tokens by which it comes later."""


def disturbed(clip: str, samples: Samples, rate: int, frame: float) -> Iterator[Disturbed]:
    """Yield a sound after each disturbance but codings; those that do not apply are left out (noise beside silence).

    ``frame`` is the length of a frame of tokens in samples; noise is that of the clip's name, for every codec.
    """
    yield Disturbed("shift_1", _later(samples, 1))
    for key, part in _SHIFTS:
        yield Disturbed(key, _later(samples, max(1, round(part * frame))), int(part))
    for snr in NOISES:
        try:
            noise = gaussian(stream("noise:white", clip), samples.size)
            yield Disturbed(f"noise_{snr}", mixed(samples.astype(np.float64), noise, snr).astype(np.float32))
        except Inapplicable:
            continue
    for key, gain in _GAINS:
        yield Disturbed(key, (samples * np.float32(10 ** (gain / 20))).astype(np.float32))
    yield Disturbed("mp3", _through_mp3()(samples, rate))
    yield Disturbed("resampled", _there_and_back(samples, rate))


def _later(samples: Samples, count: int) -> Samples:
    return np.concatenate([np.zeros(count, np.float32), samples])


@cache
def _through_mp3() -> Callable[[Samples, int], Samples]:
    from codec_superb.base_codec.registry import open_codec

    codec = open_codec(MP3)

    def coded(samples: Samples, rate: int) -> Samples:
        found: Samples = codec.decode(codec.encode(samples[None], rate))[0]
        return found

    return coded


def _there_and_back(samples: Samples, rate: int) -> Samples:
    other = 48_000 if rate == 44_100 else 44_100  # noqa: PLR2004 -- of a compact disc
    there = fitting.resample(samples[None], rate, other, fitting.resampled_length(samples.size, rate, other))
    back: Samples = fitting.resample(there, other, rate, samples.size)[0]
    return back
