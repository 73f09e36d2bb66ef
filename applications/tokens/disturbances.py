"""What is done to a sound before its tokens are compared with those of the sound itself: the table, pure functions.

Sound is mono float32 ``(samples,)`` at the codec's rate. What it does not hold: codings in a row, which need the codec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from codec_superb.applications.interface import Samples
from codec_superb.base_codec import fitting
from codec_superb.metrics.noise.mixing import Inapplicable, mixed
from codec_superb.metrics.noise.random_numbers import gaussian, stream

CODINGS = (2, 3, 5, 10, 25)
"""The tokens of these codings are compared with those of the first: the fifth is the one after four decodings."""
MP3 = "mp3_128k"


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One row of the table."""

    key: str
    label: str
    definition: str


class Disturbed(NamedTuple):
    """A sound after a disturbance."""

    key: str
    samples: Samples
    frames: int = 0
    """Frames of tokens by which it comes later."""


_SHIFTS = (("shift_quarter", 0.25), ("shift_half", 0.5), ("shift_frame", 1.0))
_NOISES = (40, 30, 20)
_GAINS = (("louder", 6.0), ("quieter", -6.0))

DISTURBANCES: dict[str, Disturbance] = {
    row.key: row
    for row in (
        *(
            Disturbance(f"recode_{n}", f"coded {n} times", f"the tokens of coding {n}, the sound decoded between")
            for n in CODINGS
        ),
        *(
            Disturbance(f"step_{n}", f"coding {n}, the one before", f"coding {n} against coding {n - 1}")
            for n in CODINGS
        ),
        Disturbance("shift_1", "shifted by a sample", "one sample of silence before the sound"),
        Disturbance("shift_quarter", "shifted by ¼ frame", "a quarter of a frame of silence before the sound"),
        Disturbance("shift_half", "shifted by ½ frame", "half a frame of silence before the sound"),
        Disturbance("shift_frame", "shifted by a frame", "a frame of silence before it, its tokens a frame later"),
        *(
            Disturbance(f"noise_{snr}", f"noise, {snr} dB", f"white noise {snr} dB below the clip's power")
            for snr in _NOISES
        ),
        Disturbance("louder", "6 dB louder", "the samples times 1.995, none cut off"),
        Disturbance("quieter", "6 dB quieter", "the samples times 0.501"),
        Disturbance("mp3", "MP3 before", "through MP3 at 128 kbps (LAME), at 44.1 kHz"),
        Disturbance("resampled", "resampled", "to 44.1 kHz and back, of sound at 44.1 kHz to 48 kHz (soxr VHQ)"),
    )
}


def disturbed(clip: str, samples: Samples, rate: int, frame: float) -> Iterator[Disturbed]:
    """Yield a sound after each disturbance but codings; those that do not apply are left out (noise beside silence).

    ``frame`` is the length of a frame of tokens in samples; noise is that of the clip's name, for every codec.
    """
    yield Disturbed("shift_1", _later(samples, 1))
    for key, part in _SHIFTS:
        yield Disturbed(key, _later(samples, max(1, round(part * frame))), int(part))
    for snr in _NOISES:
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
