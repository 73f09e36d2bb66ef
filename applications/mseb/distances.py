"""Distances between two sets of vectors: Fréchet (FAD), kernel (KAD) and the mean squared difference.

A set has the shape ``(frames, dimensions)``. Sets are *paired* where frame i of one is the same moment as frame i of
the other, as on a reference and its resynthesis.

Sources: Kilgour et al., Fréchet Audio Distance, Interspeech 2019; Chung et al., KAD: No More FAD!, ICML 2025; Heigold
et al., MSEB, NeurIPS 2025.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Kernel = Literal["gaussian", "inverse_quadratic", "inverse_multiquadric"]

LEAST_FRAMES = 2
"""Below it neither a covariance nor a distance within a set exists."""
KAD_SCALE = 100.0
"""The toolkit's factor."""
_EPSILON = 1e-8
"""The toolkit's, which keeps a bandwidth of 0 from dividing."""
_ROWS = 1024
"""Rows of a table of distances that are computed at once."""


def fad(reference: Floats, other: Floats) -> float:
    """Return the Fréchet distance of two normal densities fitted to the sets, at least 0; NaN below two frames.

    ``|m1 - m2|² + tr S1 + tr S2 - 2 tr (S1 S2)^½`` with covariances over n - 1. The last trace is the sum of the
    singular values of ``A Bᵀ``, where A and B are the centred frames over √(n - 1): no root of a matrix, no constant
    added to the diagonals, exact where there are fewer frames than dimensions.
    """
    if min(len(reference), len(other)) < LEAST_FRAMES:
        return float("nan")
    if np.array_equal(reference, other):
        return 0.0
    apart = reference.mean(axis=0) - other.mean(axis=0)
    one, two = centred(reference), centred(other)
    traces = float((one**2).sum() + (two**2).sum())
    # the factors Q have orthonormal columns, so that R_A R_Bᵀ has the singular values of A Bᵀ and is smaller
    left, right = (np.linalg.qr(part)[1] if len(part) > part.shape[1] else part for part in (one, two))
    shared = float(np.linalg.svd(left @ right.T, compute_uv=False).sum())
    return max(0.0, float(apart @ apart) + traces - 2.0 * shared)


def centred(frames: Floats) -> Floats:
    """Return the frames less their mean, over √(n - 1): their inner products are the covariance."""
    return np.asarray((frames - frames.mean(axis=0)) / np.sqrt(len(frames) - 1))


def kad(reference: Floats, other: Floats, kernel: Kernel = "gaussian", *, paired: bool = True) -> float:
    """Return 100 times the squared maximum mean discrepancy, unbiased; NaN below two frames.

    The bandwidth is the median distance within ``reference``, so that all codecs share one kernel. Of ``paired`` sets
    the products of the same moment are left out of the cross term as well, so that equal sets have 0 and not the bias
    of -200 (1 - mean k) / n. Values below 0 happen by chance and stay.
    """
    if min(len(reference), len(other)) < LEAST_FRAMES:
        return float("nan")
    if paired and np.array_equal(reference, other):
        return 0.0
    return _discrepancy(reference, other, median_distance(reference), kernel, paired=paired)


def kad_compat(reference: Floats, other: Floats, kernel: Kernel = "gaussian") -> float:
    """Return KAD as the toolkit and MSEB compute it: bandwidth of ``other``, all products, at least 0."""
    if min(len(reference), len(other)) < LEAST_FRAMES:
        return float("nan")
    return max(0.0, _discrepancy(reference, other, median_distance(other), kernel, paired=False))


def _discrepancy(reference: Floats, other: Floats, bandwidth: float, kernel: Kernel, *, paired: bool) -> float:
    within = [_mean_apart(similarities(part, part, bandwidth, kernel)) for part in (reference, other)]
    across = similarities(reference, other, bandwidth, kernel)
    shared = _mean_apart(across) if paired else float(across.mean())
    return KAD_SCALE * (within[0] + within[1] - 2.0 * shared)


def _mean_apart(table: Floats) -> float:
    """Mean of a square table without its diagonal."""
    count = len(table)
    return float((table.sum() - np.trace(table)) / (count * (count - 1)))


def similarities(one: Floats, two: Floats, bandwidth: float, kernel: Kernel = "gaussian") -> Floats:
    """Return the kernel between all frames of ``one`` and ``two``, in (0, 1].

    With d the distance and g = 1 / (2 b² + 1e-8): exp(-g d²), 1 / (1 + g d²) or (1 + g d²)^-½.
    """
    table = squared_distances(one, two)
    table *= 1.0 / (2.0 * bandwidth**2 + _EPSILON)
    if kernel == "gaussian":
        return np.exp(-table, out=table)
    if kernel == "inverse_quadratic":
        return np.asarray(1.0 / (1.0 + table))
    if kernel == "inverse_multiquadric":
        return np.asarray(1.0 / np.sqrt(1.0 + table))
    raise ValueError(f"expected one of the kernels {', '.join(get_args(Kernel))}, got {kernel!r}")


def squared_distances(one: Floats, two: Floats) -> Floats:
    """Return the squared distances between all frames, shape ``(len(one), len(two))``."""
    # about the mean of one: |a|² + |b|² - 2ab loses digits far from the origin
    middle = one.mean(axis=0)
    left, right = one - middle, two - middle
    table = -2.0 * (left @ right.T)
    table += (left**2).sum(axis=1)[:, None]
    table += (right**2).sum(axis=1)
    return np.asarray(np.maximum(table, 0.0, out=table))


def median_distance(frames: Floats) -> float:
    """Return the median distance between two different frames of a set; NaN below two frames."""
    count = len(frames)
    if count < LEAST_FRAMES:
        return float("nan")
    found = np.empty(count * (count - 1) // 2)
    place = 0
    for start in range(0, count, _ROWS):
        block = squared_distances(frames[start : start + _ROWS], frames[start:])
        for row, line in enumerate(block):
            later = line[row + 1 :]
            found[place : place + later.size] = later
            place += later.size
    middle = found.size // 2
    if found.size % 2:
        return float(np.sqrt(np.partition(found, middle)[middle]))
    low, high = np.sqrt(np.partition(found, (middle - 1, middle))[middle - 1 : middle + 1])
    return float((low + high) / 2)


def mean_squared_difference(reference: Floats, other: Floats) -> float:
    """Return the mean squared difference of paired sets; NaN where their shapes differ or they are empty."""
    if reference.shape != other.shape or not reference.size:
        return float("nan")
    return float(np.mean((reference - other) ** 2))
