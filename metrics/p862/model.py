"""The measurement, stage by stage: level, filters, time alignment, perceptual model, aggregation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.p862.aggregation import frame_range, listening_quality, raw_score, zero_lost_frames
from codec_superb.metrics.p862.alignment.activity import activity
from codec_superb.metrics.p862.alignment.frames import Workspace, workspace
from codec_superb.metrics.p862.alignment.splitting import Signals
from codec_superb.metrics.p862.alignment.utterances import Utterances, utterances
from codec_superb.metrics.p862.arithmetic.exact_fft import next_power_of_two, twiddle_factors
from codec_superb.metrics.p862.disturbance import disturbances, equalise
from codec_superb.metrics.p862.errors import NoUtterances, SilentResynthesis
from codec_superb.metrics.p862.filters import (
    alignment_lanes,
    fade_ends,
    level_factor,
    one_section,
    receiver_filter,
    recursive,
    without_offset,
)
from codec_superb.metrics.p862.realign import aligned, bad_stretches, realigned, recompute_stretch, stretch_delay
from codec_superb.metrics.p862.spectra import SpectrumWorkspace, band_powers, spectrum_workspace, utterances_at
from codec_superb.metrics.p862.tables import RateTables, listening_filter

Signal = NDArray[np.float32]
Mode = Literal["wb", "nb"]


@dataclass(frozen=True, slots=True)
class PreparedPair:
    """Both signals with silence around them, in arrays of one length, levelled and filtered as they are heard."""

    first: Signal
    second: Signal
    first_end: int
    second_end: int
    """Samples of each, silence at both ends included, padding not."""
    silent: bool
    """The second signal holds nothing."""


def prepare(
    reference: Signal, resynthesis: Signal, rate: RateTables, mode: Mode, *, corrigendum2: bool
) -> PreparedPair:
    """Bring both signals to one level and filter them."""
    ends = len(reference) + 2 * rate.lead, len(resynthesis) + 2 * rate.lead
    room = np.zeros((2, max(ends) + rate.padding), np.float32)
    divisor = max(ends) - 2 * rate.lead + rate.padding
    for row, signal in zip(room, (reference, resynthesis), strict=True):
        padded = row[rate.lead : rate.lead + len(signal) + rate.padding]
        padded[: len(signal)] = signal
        factor = level_factor(padded, rate.hertz, divisor)
        silent = math.isinf(factor)
        if silent and signal is reference:
            raise NoUtterances
        padded *= np.float32(0 if silent else factor)
        if mode == "nb":
            receiver_filter(padded, rate.hertz)
        else:
            fade_ends(row, rate.lead, rate.lead + len(signal))
    if mode == "wb":
        _listen(room, rate, ends, corrigendum2=corrigendum2)
    return PreparedPair(room[0], room[1], *ends, silent)


def _listen(room: Signal, rate: RateTables, ends: tuple[int, int], *, corrigendum2: bool) -> None:
    """Apply the wide-band filter in place; its tail behind each signal is cut off."""
    length = max(ends) - 2 * rate.lead
    heard = room[:, rate.lead : rate.lead + length]
    one_section(heard[0], heard[1], listening_filter(corrected=corrigendum2)[0])
    for row, end in zip(room, ends, strict=True):
        row[end - rate.lead :] = 0


def align(prepared: PreparedPair, rate: RateTables, at: Workspace) -> Utterances:
    """Find the utterances and their delays."""
    both = np.stack([prepared.first, prepared.second])
    first, second = both
    ends = prepared.first_end, prepared.second_end
    without_offset(both, rate.lead, (ends[0] - rate.lead, ends[1] - rate.lead), ends, rate.window)
    recursive(first[rate.lead :], second[rate.lead :], alignment_lanes(rate.hertz))  # before that there is nothing
    counts = prepared.first_end // rate.window, prepared.second_end // rate.window
    first_activity, first_log = activity(first, rate.window, counts[0])
    second_log = activity(second, rate.window, counts[1])[1]
    size = 2 * next_power_of_two(max(counts))
    return utterances(
        Signals(
            first,
            second,
            prepared.first_end,
            prepared.second_end,
            first_activity,
            first_log,
            second_log,
            rate.window,
            twiddle_factors(size),
        ),
        at,
    )


def _starts(frames: int, found: Utterances, end: int, rate: RateTables) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First samples of the frames in both signals; -1 where the second signal has none."""
    first = rate.lead + np.arange(frames) * (rate.frame // 2)
    second = first + found.delay[utterances_at(first, found.start, rate.window)]
    second[(second <= 0) | (second + rate.frame >= end)] = -1
    return first, second


def _realign(
    prepared: PreparedPair,
    found: Utterances,
    reference: NDArray[np.float32],
    both: Signal,
    added: Signal,
    rate: RateTables,
    at: SpectrumWorkspace,
) -> None:
    """Work out badly aligned stretches again, in place."""
    stretches = bad_stretches(both)
    if not stretches:
        return
    moved = aligned(prepared.second, found, rate)
    hop = rate.frame // 2
    spans = [(rate.lead + first * hop, rate.lead + end * hop + rate.frame) for first, end in stretches]
    delays = [stretch_delay(prepared.first, moved, span, rate) for span in spans]
    again = realigned(moved, spans, delays, max(prepared.first_end, prepared.second_end))
    for stretch in stretches:
        recompute_stretch(again, reference, stretch, rate, at, both, added)


def _disturbed(prepared: PreparedPair, found: Utterances, rate: RateTables) -> tuple[Signal, Signal, Signal, int]:
    """Both disturbances and the reference's audible power of every frame, and the first frame that counts."""
    longest = max(prepared.first_end, prepared.second_end)
    start, frames = frame_range(prepared.first, longest, rate)
    at = spectrum_workspace(rate.hertz)
    starts, others = _starts(frames, found, longest + rate.padding, rate)
    powers = np.empty((2, frames, len(rate.bins)), np.float32)
    band_powers(prepared.first, starts, rate, at, powers[0])
    band_powers(prepared.second, others, rate, at, powers[1])
    equalise(powers[0], powers[1], (longest - 2 * rate.lead + rate.padding) // (rate.frame // 2) - 1, rate)
    both, added, audible = disturbances(powers[0], powers[1], 0, rate)
    zero_lost_frames(both, added, found, rate)
    _realign(prepared, found, powers[0], both, added, rate, at)
    return both, added, audible, start


def measure(reference: Signal, resynthesis: Signal, rate: RateTables, mode: Mode, *, corrigendum2: bool) -> float:
    """MOS-LQO of two signals whose greatest sample is 1. Raises NoUtterances or SilentResynthesis."""
    prepared = prepare(reference, resynthesis, rate, mode, corrigendum2=corrigendum2)
    found = align(prepared, rate, workspace(rate.align))
    if not len(found.start):
        raise NoUtterances
    if prepared.silent:
        raise SilentResynthesis
    longest = max(prepared.first_end, prepared.second_end)
    return listening_quality(float(raw_score(*_disturbed(prepared, found, rate), longest, rate)), mode)
