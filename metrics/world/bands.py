"""The band signals of DIO: low-cut, low-pass by Nuttall windows, and the times at which they cross zero or turn.

The reference implementation filters by Fourier transforms over the whole signal. A Hann window and a Nuttall window
are sums of cosines over one period, so that filtering with them is a few running sums: the same numbers but for
rounding, in a time that does not depend on the windows' lengths.

Rounding shows where a signal is digitally silent: there a transform leaves white noise, which crosses zero at a
rate too high for any pitch, where running sums would leave a clean tone. So a dither stands in for that noise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.world.lanes import LANES, SUMS, fill, slide

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

CUTOFF = 50.0
"""Hz of the low-cut filter, whatever the floor (a constant of WORLD)."""
# Nuttall 1981: the window of four terms with a continuous first derivative
_MEAN, _WAVES = 0.355768, (0.487396, 0.144232, 0.012604)
LONGEST = 4096
"""Samples of a stretch: sums begin anew after so many, so that rounding cannot pile up."""
_CHUNK = 512
"""Steps whose outcome is looked at together: it stays in the fastest memory."""
_DITHER, _DITHER_OF_ALL = 1e-16, 1e-17
"""Dither in units of the rounding of a stretch and of the whole: above what running sums leave behind."""
KINDS = 4
"""Falling and rising zero crossings, peaks and dips."""


class Bank(NamedTuple):
    """The windows of all bands at one sampling rate."""

    tables: Reals
    """Shape ``(samples of all periods, 7)``: scaled cosines and sines, and a dither."""
    starts: Integers
    """First row of each band in ``tables``."""
    halves: Integers
    """A quarter of each window's length, in samples."""


@lru_cache(maxsize=8)
def bank(rate: int, boundaries: tuple[float, ...]) -> Bank:
    """Return the windows for bands up to ``boundaries`` in Hz."""
    halves = [int(rate / boundary / 2.0 + 0.5) for boundary in boundaries]
    noise = np.random.default_rng(0)
    tables = []
    for half in halves:
        # WORLD's window of 4 half samples has zeros at both ends, so that one period holds all of it
        period = 4 * half - 1
        angle = 2.0 * np.pi / period * np.outer(np.arange(period), np.arange(1, 4))
        scale = np.sqrt(_WAVES)
        waves = np.stack([np.cos(angle) * scale, np.sin(angle) * scale], axis=2).reshape(period, 6)
        tables.append(np.column_stack([waves, noise.uniform(-1.0, 1.0, period)]))
    starts = np.cumsum([0, *(len(table) for table in tables[:-1])])
    return Bank(np.ascontiguousarray(np.concatenate(tables)), starts.astype(np.int64), np.array(halves, np.int64))


@compiled(error_model="numpy")
def low_cut(samples: Reals, rate: int, margin: int, room: int) -> Reals:
    """Return the signal without what is below 50 Hz, shape ``(room,)``; its sample 0 stands at ``margin``.

    WORLD takes one zero behind the signal as its last sample, and the mean of all before it filters.
    """
    reach = int(rate / CUTOFF + 0.5)
    period = 2 * reach + 2
    length = samples.size + 1
    cosine, sine = np.empty(period), np.empty(period)
    for k in range(period):
        cosine[k], sine[k] = np.cos(2.0 * np.pi * k / period), np.sin(2.0 * np.pi * k / period)
    out = np.zeros(room)
    out[margin : margin + samples.size] = samples
    behind = np.zeros((3, period + 1))
    for start in range(0, length + 2 * reach + 1, period):
        _smooth_block(samples, start, cosine, sine, behind, out[margin - reach - 1 + start :])
        _sum_backwards(samples, start, cosine, sine, behind)
    _without_mean(out[margin - reach :], samples.mean() * samples.size / length, length, reach, cosine)
    return out


@compiled(error_model="numpy")
def _smooth_block(samples: Reals, start: int, cosine: Reals, sine: Reals, behind: Reals, out: Reals) -> None:
    """Take from ``out`` the Hann-weighted mean of the period that ends at each sample of a block."""
    period = cosine.size
    scale = 1.0 / period
    total, real, imaginary = 0.0, 0.0, 0.0
    # the sums before the block are summed backwards: where all samples are zero, nothing is left
    for k in range(min(period, out.size)):
        sample = samples[start + k] if start + k < samples.size else 0.0
        total += sample
        real += sample * cosine[k]
        imaginary += sample * sine[k]
        wave = cosine[k] * (real + behind[1, k + 1]) + sine[k] * (imaginary + behind[2, k + 1])
        out[k] -= scale * (total + behind[0, k + 1] - wave)


@compiled(error_model="numpy")
def _sum_backwards(samples: Reals, start: int, cosine: Reals, sine: Reals, behind: Reals) -> None:
    total, real, imaginary = 0.0, 0.0, 0.0
    for k in range(cosine.size - 1, -1, -1):
        sample = samples[start + k] if start + k < samples.size else 0.0
        total += sample
        real += sample * cosine[k]
        imaginary += sample * sine[k]
        behind[0, k], behind[1, k], behind[2, k] = total, real, imaginary


@compiled(error_model="numpy")
def _without_mean(out: Reals, mean: float, length: int, reach: int, cosine: Reals) -> None:
    """Take from ``out`` what the filter makes of a constant ``mean``: something near both ends only.

    ``out`` begins ``reach`` samples before the signal.
    """
    period = cosine.size
    part = np.empty(period)
    total = 0.0
    for k in range(period):
        total += (1.0 - cosine[k]) / period
        part[k] = total
    for k in range(length + 2 * reach):
        at = k - reach
        if reach <= at < length - reach - 1:
            continue
        inside = 1.0 if 0 <= at < length else 0.0
        weight = part[min(k + 1, period - 1)] - (part[min(k - length + 1, period - 1)] if k >= length - 1 else 0.0)
        out[k] -= mean * (inside - weight)


class _Stretches(NamedTuple):
    """Eight stretches of a signal side by side."""

    rows: Reals
    """Row ``margin + n`` holds sample ``n`` of each."""
    margin: int
    step: int
    """Samples of each."""
    base: int
    """Place of the first in the signal."""
    length: int
    """Samples of the signal."""


@compiled(error_model="numpy")
def crossings(signal: Reals, length: int, margin: int, bands: Bank) -> tuple[Reals, Integers]:
    """Return for each band and kind the times in samples, shape ``(4 * bands, room)``, and their numbers.

    ``signal`` comes from :func:`low_cut`.
    """
    count = bands.halves.size
    step = min(LONGEST, (length + LANES - 1) // LANES)
    times, counts = np.empty((KINDS * count, 64 + length // 8)), np.zeros(KINDS * count, np.int64)
    rows = np.empty((step + 2 * margin) * LANES)
    found, number = np.empty((KINDS * LANES, step + 1)), np.empty(KINDS * LANES, np.int64)
    energy_of_all = _energy(signal)
    for base in range(0, length, LANES * step):
        _side_by_side(signal[base:], step, rows)
        dither = _DITHER * np.sqrt(_energy(rows)) + _DITHER_OF_ALL * np.sqrt(energy_of_all)
        for band in range(count):
            half = bands.halves[band]
            start = bands.starts[band]
            table = bands.tables[start : start + 4 * half - 1].ravel()
            _events(_Stretches(rows, margin, step, base, length), half, table, dither, found, number)
            times = _append(found, number, band, times, counts)
    return times, counts


@compiled(error_model="numpy")
def _energy(values: Reals) -> float:
    total = 0.0
    for k in range(values.size):
        total += values[k] * values[k]
    return total


@compiled(error_model="numpy")
def _side_by_side(signal: Reals, step: int, rows: Reals) -> None:
    """Lay eight stretches, ``step`` samples apart, side by side."""
    for row in range(rows.size // LANES):
        for lane in range(LANES):
            rows[row * LANES + lane] = signal[row + lane * step]


@compiled(error_model="numpy")
def _events(of: _Stretches, half: int, table: Reals, dither: float, found: Reals, number: Integers) -> None:
    """Filter eight stretches with one window, and note the events of each in its rows of ``found``."""
    period = 4 * half - 1
    state = np.zeros((SUMS + 2) * LANES)
    state[SUMS * LANES : (SUMS + 1) * LANES] = _MEAN
    state[(SUMS + 1) * LANES :] = dither * np.sqrt(period)
    out, flags = np.zeros((_CHUNK + 2) * LANES), np.empty(_CHUNK, np.uint8)
    number[:] = 0
    # the output at sample n needs the samples up to n + 2 half; two outputs before the first tell its slope
    phase = fill(of.rows, table, state, of.margin - 2 * half - 1, period, period, 0)
    for begin in range(-2, of.step, _CHUNK):
        steps = min(_CHUNK, of.step - begin)
        phase = slide(of.rows, table, state, out, flags, of.margin + 2 * half + begin, steps, period, phase)
        for k in range(max(0, -begin), steps):
            if flags[k]:
                _note(out[k * LANES : (k + 3) * LANES], int(flags[k]), begin + k, of, found, number)
        out[: 2 * LANES] = out[steps * LANES : (steps + 2) * LANES]


@compiled(error_model="numpy")
def _note(rows: Reals, lanes: int, sample: int, of: _Stretches, found: Reals, number: Integers) -> None:
    """Note what happens between ``sample`` of each lane and the one before, by straight lines between samples.

    What happens cannot be foretold: a place is written anyhow, and counted where there is something.
    """
    lane = 0
    while lanes:
        while not lanes & 1:
            lanes >>= 1
            lane += 1
        lanes >>= 1
        before, last, now = rows[lane], rows[LANES + lane], rows[2 * LANES + lane]
        at = of.base + lane * of.step + sample
        place = lane + LANES * (last < 0.0)
        found[place, number[place]] = at - last / (now - last)
        number[place] += ((last > 0.0 >= now) | (last < 0.0 <= now)) & (1 <= at < of.length)
        old, new = last - before, now - last
        place = lane + 2 * LANES + LANES * (old < 0.0)
        found[place, number[place]] = at - 1 - old / (new - old)
        number[place] += ((old > 0.0 >= new) | (old < 0.0 <= new)) & (1 < at < of.length)
        lane += 1


@compiled(error_model="numpy")
def _append(found: Reals, number: Integers, band: int, times: Reals, counts: Integers) -> Reals:
    """Append the events of a band, lane after lane; return ``times``, larger where that was needed."""
    for place in range(KINDS * LANES):
        to = KINDS * band + place // LANES
        many = number[place]
        if counts[to] + many > times.shape[1]:
            larger = np.empty((times.shape[0], 2 * (counts[to] + many)))
            larger[:, : times.shape[1]] = times
            times = larger
        times[to, counts[to] : counts[to] + many] = found[place, :many]
        counts[to] += many
    return times
