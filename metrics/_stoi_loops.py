"""Compiled loops of STOI and ESTOI: resampling, joining of frames, band envelopes, correlations over segments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic import wide
from codec_superb.metrics.p862.arithmetic.rows import WIDE_LANES as LANES

Reals = NDArray[np.float64]
# numpy.finfo(float).eps, which pystoi adds to what it divides by
_TINY = 2.220446049250313e-16
_FLAT = 1e-13
"""Norm of an envelope without its mean, relative to the envelope, that is nothing but rounding."""


def split_phases(taps: Reals, up: int) -> Reals:
    """Return ``taps`` as one row per phase, each reversed so that it multiplies samples in order of time."""
    length = -(-taps.size // up)
    padded = np.zeros(length * up)
    padded[: taps.size] = taps
    return np.ascontiguousarray(padded.reshape(length, up).T[:, ::-1])


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def resampled(samples: Reals, phases: Reals, half: int, up: int, down: int) -> Reals:
    """Return ``samples`` at ``up / down`` times their rate; sample 0 stays sample 0. Zeros stand outside.

    Four results of the same phase are computed at once, so that each weight is loaded for all of them.
    """
    count = -(-samples.size * up // down)
    out = np.empty(count)
    for base in range(0, count, 4 * up):
        for n in range(base, base + up):
            # result n stands at n * down / up samples, late by the filter's half length, which is taken off here
            weights, newest = phases[(n * down + half) % up], (n * down + half) // up
            oldest = newest - weights.size + 1
            if n + 3 * up < count and oldest >= 0 and newest + 3 * down < samples.size:
                values = samples[oldest : newest + 3 * down + 1]
                sums = _four_sums(weights, values, values[down:], values[2 * down :], values[3 * down :])
                out[n], out[n + up], out[n + 2 * up], out[n + 3 * up] = sums
            else:
                for edge in range(n, min(n + 4 * up, count), up):
                    out[edge] = _edge_sum(weights, samples, (edge * down + half) // up)
    return out


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def _four_sums(weights: Reals, a: Reals, b: Reals, c: Reals, d: Reals) -> tuple[float, float, float, float]:
    first = second = third = fourth = 0.0
    for k in range(weights.size):
        weight = weights[k]
        first += weight * a[k]
        second += weight * b[k]
        third += weight * c[k]
        fourth += weight * d[k]
    return first, second, third, fourth


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def _edge_sum(weights: Reals, samples: Reals, newest: int) -> float:
    """Return the weighted sum up to sample ``newest``, where some of the samples may lie outside."""
    low, high = max(0, newest - weights.size + 1), min(samples.size - 1, newest)
    shift = weights.size - 1 - newest
    inside, values = weights[low + shift : high + 1 + shift], samples[low : high + 1]
    total = 0.0
    for k in range(values.size):
        total += inside[k] * values[k]
    return total


@compiled(error_model="numpy")
def frame_energies(samples: Reals, window: Reals) -> Reals:
    """Return the level in dB of each windowed frame, frames half a window apart."""
    hop = window.size // 2
    # pystoi: range(0, len(x) - framelen, hop), which leaves out a frame that ends with the signal
    count = -(-(samples.size - window.size) // hop)
    out = np.empty(count)
    for frame in range(count):
        total = 0.0
        for k in range(window.size):
            value = window[k] * samples[frame * hop + k]
            total += value * value
        # pystoi adds eps inside the logarithm; the threshold of 40 dB compares these numbers
        out[frame] = 20.0 * np.log10(np.sqrt(total) + _TINY)
    return out


@compiled()
def joined_frames(samples: Reals, frames: NDArray[np.int64], window: Reals) -> Reals:
    """Overlap and add the windowed ``frames`` of ``samples`` one after the other, half a window apart."""
    hop = window.size // 2
    out = np.zeros((frames.size - 1) * hop + window.size)
    for place in range(frames.size):
        for k in range(window.size):
            out[place * hop + k] += window[k] * samples[frames[place] * hop + k]
    return out


@compiled(error_model="numpy")
def band_envelopes(joined: Reals, window: Reals, edges: NDArray[np.int64], at: wide.Workspace) -> Reals:
    """Return the root of the energy in each band of all windowed frames but the last, shape ``(bands, frames)``.

    Frames are half a window apart; ``edges`` are bins of the transform of ``at``.
    """
    hop, bands = window.size // 2, edges.shape[0]
    # range(0, size - window, hop) again, as in pystoi's stft
    count = joined.size // hop - 2
    out, sums = np.empty((bands, count)), np.empty((bands, LANES))
    rows = sums.reshape(-1)
    re, im, places = at.room[0], at.room[1], at.places
    cosines, sines = at.twists
    at.means[:] = 0.0
    for first in range(0, count, LANES):
        for lane in range(LANES):
            at.starts[lane] = min(first + lane, count - 1) * hop
        wide.spectra(joined, window, at)
        rows[:] = 0.0
        for band in range(bands):
            for k in range(edges[band, 0], edges[band, 1]):
                at_k, at_mirror = places[k] * LANES, places[(at.half - k) % at.half] * LANES
                wide.add_bin(re, im, cosines, sines, rows, k, at_k, at_mirror, band * LANES)
            for lane in range(min(LANES, count - first)):
                # powers are four times too great
                out[band, first + lane] = np.sqrt(0.25 * sums[band, lane])
    return out


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def mean_clipped_correlation(x: Reals, y: Reals, segment: int) -> float:
    """Return STOI: mean correlation of ``(bands, frames)`` envelopes, the second clipped at -15 dB of distortion."""
    # Taal et al. 2010: beta is -15 dB, the lower bound of the signal-to-distortion ratio
    limit = 1.0 + 10.0 ** (15.0 / 20.0)
    bands, count = x.shape[0], x.shape[1] - segment + 1
    clipped = np.empty(segment)
    total = 0.0
    for band in range(bands):
        for start in range(count):
            first, second = x[band, start : start + segment], y[band, start : start + segment]
            xx = yy = 0.0
            for k in range(segment):
                xx += first[k] * first[k]
                yy += second[k] * second[k]
            # Taal et al. 2010: the resynthesis gets the energy of the reference in each segment and band
            gain = np.sqrt(xx) / (np.sqrt(yy) + _TINY)
            for k in range(segment):
                clipped[k] = min(second[k] * gain, first[k] * limit)
            total += _correlation(first, clipped)
    return float(total / (bands * count))


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def _correlation(x: Reals, y: Reals) -> float:
    mean_x = mean_y = 0.0
    for k in range(x.size):
        mean_x += x[k]
        mean_y += y[k]
    mean_x /= x.size
    mean_y /= x.size
    xx = yy = xy = 0.0
    for k in range(x.size):
        dx, dy = x[k] - mean_x, y[k] - mean_y
        xx += dx * dx
        yy += dy * dy
        xy += dx * dy
    # pystoi adds eps to each norm; one eps for the product would give other last digits
    return float(xy / ((np.sqrt(xx) + _TINY) * (np.sqrt(yy) + _TINY)))


@compiled(error_model="numpy")
def mean_normalised_correlation(x: Reals, y: Reals, segment: int) -> float:
    """Return ESTOI: the mean correlation of the spectra in segments of ``(bands, frames)`` envelopes, normalised."""
    bands, count = x.shape[0], x.shape[1] - segment + 1
    # bands are neighbours, filled up with zeros to whole vectors
    columns = (bands + LANES - 1) // LANES * LANES
    spectra = np.zeros((2, x.shape[1], columns))
    spectra[0, :, :bands], spectra[1, :, :bands] = x.T, y.T
    share = np.zeros(columns)
    share[:bands] = 1.0 / bands
    room, normalised = np.empty((3, columns)), np.empty((2, segment, columns))
    total = 0.0
    for start in range(count):
        for signal in range(2):
            # Jensen and Taal 2016: each band over time first, then each frame over bands
            _normalise_bands(spectra[signal, start : start + segment], room, normalised[signal])
            _normalise_frames(normalised[signal], share, bands)
        total += _product(normalised[0].reshape(-1), normalised[1].reshape(-1))
    # each frame has norm 1, so that the sum of products over `segment` frames is at most `segment`
    return float(total / (segment * count))


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def _normalise_bands(frames: Reals, room: Reals, out: Reals) -> None:
    """Fill ``out`` with ``frames``, each column with mean 0 and norm 1; zeros where it is flat."""
    means, squares, energies = room[0], room[1], room[2]
    for band in range(means.size):
        means[band] = squares[band] = energies[band] = 0.0
    for frame in range(frames.shape[0]):
        values = frames[frame]
        for band in range(means.size):
            means[band] += values[band]
            squares[band] += values[band] * values[band]
    for band in range(means.size):
        means[band] /= frames.shape[0]
    for frame in range(frames.shape[0]):
        values, centred = frames[frame], out[frame]
        for band in range(means.size):
            value = values[band] - means[band]
            centred[band] = value
            energies[band] += value * value
    for band in range(means.size):
        # pystoi adds normal noise times eps, which makes the score of a flat envelope random
        flat = energies[band] <= _FLAT * _FLAT * squares[band]
        means[band] = 0.0 if flat else 1.0 / np.sqrt(energies[band])
    for frame in range(frames.shape[0]):
        centred = out[frame]
        for band in range(means.size):
            centred[band] *= means[band]


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def _normalise_frames(frames: Reals, share: Reals, bands: int) -> None:
    """Give each row mean 0 and norm 1, of the columns with a ``share`` in its mean; zeros where it is flat."""
    for frame in range(frames.shape[0]):
        values = frames[frame]
        mean = 0.0
        for band in range(share.size):
            mean += values[band] * share[band]
        energy = 0.0
        for band in range(share.size):
            values[band] -= mean * (share[band] * bands)
            energy += values[band] * values[band]
        scale = 0.0 if energy <= _FLAT * _FLAT else 1.0 / np.sqrt(energy)
        for band in range(share.size):
            values[band] *= scale


@compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
def _product(x: Reals, y: Reals) -> float:
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total
