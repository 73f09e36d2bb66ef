"""Compiled loops of STOI and ESTOI: resampling, joining of frames, band envelopes, correlations over segments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

Reals = NDArray[np.float64]
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
    """Return ``samples`` at ``up / down`` times their rate; sample 0 stays sample 0. Zeros stand outside."""
    count = -(-samples.size * up // down)
    length = phases.shape[1]
    out = np.empty(count)
    for n in range(count):
        position = n * down + half
        row = phases[position % up]
        newest = position // up
        low, high = max(0, newest - length + 1), min(samples.size - 1, newest)
        shift = length - 1 - newest
        weights, values = row[low + shift : high + 1 + shift], samples[low : high + 1]
        total = 0.0
        for k in range(values.size):
            total += weights[k] * values[k]
        out[n] = total
    return out


@compiled(error_model="numpy")
def frame_energies(samples: Reals, window: Reals) -> Reals:
    """Return the level in dB of each windowed frame, frames half a window apart."""
    hop = window.size // 2
    count = -(-(samples.size - window.size) // hop)
    out = np.empty(count)
    for frame in range(count):
        total = 0.0
        for k in range(window.size):
            value = window[k] * samples[frame * hop + k]
            total += value * value
        out[frame] = 20.0 * np.log10(np.sqrt(total) + 2.220446049250313e-16)
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
def band_envelopes(spectra: NDArray[np.complex128], edges: NDArray[np.int64]) -> Reals:
    """Return the root of the energy in each band, shape ``(frames, bands)``."""
    out = np.empty((spectra.shape[0], edges.shape[0]))
    for frame in range(spectra.shape[0]):
        for band in range(edges.shape[0]):
            total = 0.0
            for k in range(edges[band, 0], edges[band, 1]):
                value = spectra[frame, k]
                total += value.real * value.real + value.imag * value.imag
            out[frame, band] = np.sqrt(total)
    return out


@compiled(error_model="numpy")
def mean_clipped_correlation(x: Reals, y: Reals, segment: int) -> float:
    """Return STOI: the mean correlation of the envelopes, the second one clipped at -15 dB signal-to-distortion."""
    tiny = 2.220446049250313e-16
    limit = 1.0 + 10.0 ** (15.0 / 20.0)
    frames, bands = x.shape
    clipped = np.empty(segment)
    total = 0.0
    for band in range(bands):
        for start in range(frames - segment + 1):
            xx = yy = 0.0
            for k in range(start, start + segment):
                xx += x[k, band] * x[k, band]
                yy += y[k, band] * y[k, band]
            gain = np.sqrt(xx) / (np.sqrt(yy) + tiny)
            mean_x = mean_y = 0.0
            for k in range(segment):
                clipped[k] = min(y[start + k, band] * gain, x[start + k, band] * limit)
                mean_x += x[start + k, band] / segment
                mean_y += clipped[k] / segment
            xx = yy = xy = 0.0
            for k in range(segment):
                dx, dy = x[start + k, band] - mean_x, clipped[k] - mean_y
                xx += dx * dx
                yy += dy * dy
                xy += dx * dy
            total += xy / ((np.sqrt(xx) + tiny) * (np.sqrt(yy) + tiny))
    return float(total / (bands * (frames - segment + 1)))


@compiled(error_model="numpy")
def _normalise(source: Reals, out: Reals) -> None:
    """Give each column of ``source`` (one band over time), then each row (one frame), mean 0 and norm 1."""
    segment, bands = source.shape
    for band in range(bands):
        mean = square = 0.0
        for k in range(segment):
            mean += source[k, band] / segment
            square += source[k, band] * source[k, band]
        energy = 0.0
        for k in range(segment):
            out[k, band] = source[k, band] - mean
            energy += out[k, band] * out[k, band]
        scale = 1.0 / np.sqrt(energy) if energy > _FLAT * _FLAT * square else 0.0
        for k in range(segment):
            out[k, band] *= scale
    for k in range(segment):
        mean = 0.0
        for band in range(bands):
            mean += out[k, band] / bands
        energy = 0.0
        for band in range(bands):
            out[k, band] -= mean
            energy += out[k, band] * out[k, band]
        scale = 1.0 / np.sqrt(energy) if energy > _FLAT * _FLAT else 0.0
        for band in range(bands):
            out[k, band] *= scale


@compiled(error_model="numpy")
def mean_normalised_correlation(x: Reals, y: Reals, segment: int) -> float:
    """Return ESTOI: the mean correlation of spectra, normalised over time and then over bands in each segment."""
    frames, bands = x.shape
    count = frames - segment + 1
    first, second = np.empty((segment, bands)), np.empty((segment, bands))
    total = 0.0
    for start in range(count):
        _normalise(x[start : start + segment], first)
        _normalise(y[start : start + segment], second)
        for k in range(segment):
            for band in range(bands):
                total += first[k, band] * second[k, band]
    return float(total / (segment * count))
