"""Powers in Bark bands of 32 ms frames, each frame of the second signal taken at its utterance's delay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.hann import hann
from codec_superb.metrics.p862.arithmetic.exact_fft import (
    TwiddleFactors,
    per_thread,
    reversed_bits,
    transform_real_lanes,
    twiddle_factors,
)
from codec_superb.metrics.p862.arithmetic.rows import LANES
from codec_superb.metrics.p862.arithmetic.vector import add_power, load_lanes
from codec_superb.metrics.p862.tables import OPTIONS, RateTables, rate_tables

Signal = NDArray[np.float32]


class SpectrumWorkspace(NamedTuple):
    """Tables and room for the spectra of sixteen frames at once: each thread has its own."""

    window: Signal
    twiddle_factors: TwiddleFactors
    places: NDArray[np.int64]
    room: Signal


@per_thread
def spectrum_workspace(rate: int) -> SpectrumWorkspace:
    """Return the calling thread's analysis for frames at this rate in Hz."""
    frame = rate_tables(rate).frame
    room = np.empty((2, LANES * frame), np.float32)
    return SpectrumWorkspace(hann(frame).astype(np.float32), twiddle_factors(frame), reversed_bits(frame), room)


def utterances_at(samples: NDArray[np.int64], start: NDArray[np.int64], window: int) -> NDArray[np.int64]:
    """For each sample the last utterance that has begun, or the first of all."""
    found = np.zeros(len(samples), np.int64)
    for i, begin in enumerate(start):
        found[samples >= begin * window] = i
    return found


@compiled(**OPTIONS)
def band_powers(
    signal: Signal, starts: NDArray[np.int64], rate: RateTables, at: SpectrumWorkspace, powers: NDArray[np.float32]
) -> None:
    """Fill ``powers`` of shape (frames, bands) for the frames of ``signal`` that begin at ``starts``.

    A negative start stands for a frame of silence.
    """
    frames, length = len(starts), rate.frame
    lanes = np.empty(LANES, np.int64)
    sums = np.empty(LANES, np.float64)
    for begin in range(0, frames, LANES):
        count = min(LANES, frames - begin)
        for lane in range(LANES):
            lanes[lane] = max(starts[begin + min(lane, count - 1)], 0)
        for i in range(0, length, LANES):
            load_lanes(signal, lanes, at.window, at.room[0], i)
        transform_real_lanes(at.room[0], at.room[1], at.twiddle_factors.cosines, at.twiddle_factors.sines)
        k = 0
        for band in range(len(rate.bins)):
            for lane in range(LANES):
                sums[lane] = 0.0
            for _ in range(rate.bins[band]):
                if k > 0:  # the offset is no sound
                    add_power(at.room[0], at.room[1], sums, at.places[k] * LANES)
                k += 1
            for lane in range(count):
                heard = starts[begin + lane] >= 0
                powers[begin + lane, band] = np.float32(sums[lane] * rate.power_scale[band]) if heard else np.float32(0)
