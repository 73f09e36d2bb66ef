"""Measure the residual lag between a reference and a resynthesis by cross-correlation; it is never corrected.

The cross spectrum is half whitened, divided by the root of its magnitude (generalised cross-correlation: Knapp and
Carter, "The generalized correlation method for estimation of time delay", IEEE Trans. ASSP 24, 1976): full whitening
gives bands that a codec removed the same weight as those it kept, no whitening lets low frequencies blur the peak over
several samples. Where a codec does not preserve the waveform (parametric speech coders), no peak is distinct and no lag
is given.
"""

from __future__ import annotations

import platform

import numpy as np
from numpy.typing import NDArray

LONGEST_S = 0.5
"""Largest lag that is searched, in seconds."""
WINDOW_S = 10.0
"""Longer clips are measured on their loudest section of this length, in seconds."""
NEAR_PEAK = 0.98
"""Peaks of at least this fraction of the highest count as equal; of equal peaks (steady tones) the smallest lag is
taken."""
RELIABLE = 0.33
"""Smallest height of the peak relative to identical signals. Measured: Codec 2, which preserves pitch but not the
waveform, reaches 0.32 on singing at meaningless lags."""
CLEAR = 0.85
"""A peak at a smaller lag of at least this fraction of the highest makes the lag ambiguous. Measured: audio shifted by
20 ms has none above 0.79 on the clips of ``mini``; Codec 2 on an owl's call has one at 0.96."""

TOGETHER = 4 if platform.machine() in {"x86_64", "AMD64"} else 2
"""Rows of one Fourier transform, two of them empty: SciPy takes four rows of 32 bits through the registers of SSE2, in
0.30 ms where two alone take 0.53 (2 s at 16 kHz), with the same operations and so the same bits. Other processors may
fuse multiplication and addition in one way and not in the other."""


def residual_lag(reference: NDArray[np.float32], resynthesis: NDArray[np.float32], rate: int) -> int | None:
    """Return the delay of ``resynthesis`` relative to ``reference`` in samples (negative: it is early).

    Both are mono, shape ``(samples,)``, equal in length, at ``rate`` Hz. None for silence and where no lag within
    half a second is distinct.
    """
    reference, resynthesis = _loudest(reference, resynthesis, int(WINDOW_S * rate))
    if not _sounds(reference) or not _sounds(resynthesis):
        return None
    longest = min(int(LONGEST_S * rate), reference.size - 1)
    correlation, ceiling = _correlate(reference, resynthesis, longest)
    peaks = _peaks(correlation)
    if not peaks.size:
        return None
    best = correlation[peaks].max()
    if not best >= RELIABLE * ceiling:
        return None
    near = peaks[correlation[peaks] >= NEAR_PEAK * best] - longest
    lag = int(near[np.argmin(np.abs(near))])
    closer = correlation[peaks[np.abs(peaks - longest) < abs(lag)]]
    return None if closer.size and closer.max() >= CLEAR * best else lag


def _loudest(
    reference: NDArray[np.float32], resynthesis: NDArray[np.float32], length: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cut both to the ``length`` samples with the highest energy of the reference, on a grid of ``length // 10``."""
    if reference.size <= length:
        return reference, resynthesis
    # a second apart for windows of ten: the loudest stretch need not be found to the sample
    step = max(1, length // 10)
    starts = np.arange(0, reference.size - length + 1, step)
    start = int(starts[np.argmax(_energy(reference, starts + length) - _energy(reference, starts))])
    return reference[start : start + length], resynthesis[start : start + length]


def _energy(signal: NDArray[np.float32], places: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the energy of ``signal`` before each of the ascending ``places``.

    Samples are summed sequentially without an array of all partial sums, which in float64 would take twice the memory
    of the audio.
    """
    sums, before, done = [], 0.0, 0
    for place in places.tolist():
        if place > done:
            squares = np.square(signal[done:place], dtype=np.float64)
            # one running sum from the first sample on: equal prefixes give equal numbers, whatever the places
            squares[0] += before
            before, done = float(np.cumsum(squares)[-1]), place
        sums.append(before)
    return np.asarray(sums)


def _sounds(audio: NDArray[np.float32]) -> bool:
    """Whether a signal is more than a constant."""
    return audio.size > 1 and float(np.ptp(audio)) > 1e-6  # noqa: PLR2004 - well below one step of 16 bits


def _correlate(x: NDArray[np.float32], y: NDArray[np.float32], longest: int) -> tuple[NDArray[np.float32], float]:
    """Return the correlation at lags ``-longest .. longest``, and the peak height of two identical signals."""
    from scipy import fft

    # zeros for the longest lag, so that the circular correlation does not wrap around within it
    size = fft.next_fast_len(x.size + longest + 1, real=True)
    rows = np.zeros((TOGETHER, size), dtype=np.float32)
    for row, signal in zip(rows, (x, y), strict=False):
        np.subtract(signal, signal.mean(), out=row[: signal.size])
    spectra = fft.rfft(rows)[:2]
    weighted = np.conj(spectra[0]) * spectra[1]
    magnitude = np.abs(weighted)
    floor = np.float32(np.finfo(np.float32).tiny + 1e-9 * magnitude.max())
    # numpy divides a complex number by a real one as this does, to the last bit, in five times the time
    weighted *= np.float32(1) / np.sqrt(magnitude + floor)
    correlation = fft.irfft(weighted, size)
    around = np.concatenate([correlation[size - longest :], correlation[: longest + 1]])
    own = [np.square(s.real) + np.square(s.imag) for s in spectra]
    heights = [float(np.sum(power / np.sqrt(power + floor))) for power in own]
    # Cauchy and Schwarz: no correlation exceeds the root of the product of both energies; 2, since rfft has half of the
    # bins
    return around, 2 * float(np.sqrt(heights[0] * heights[1])) / size


def _peaks(correlation: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the indices of local maxima, ends included."""
    found = correlation > 0
    found[1:] &= correlation[1:] >= correlation[:-1]
    found[:-1] &= correlation[:-1] >= correlation[1:]
    return np.flatnonzero(found)
