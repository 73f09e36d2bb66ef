"""Dynamic time warping of two contours: exact, and FastDTW (Salvador and Chan 2007), both compiled.

Conventions: a contour is a float64 array of shape ``(frames,)``; the cost of a step is the absolute difference of the
values it pairs; a path runs from both beginnings to both ends and moves by (1, 1), (0, 1) or (1, 0). Where several
paths cost the same, the choice follows librosa in :func:`exact_correlation` (diagonal first) and the package fastdtw in
:func:`fast_path` (diagonal last), so that results agree with both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

Contour = NDArray[np.float64]
Path = NDArray[np.int64]

ROUNDING = 1e-12
"""A variance below this part of the mean square is rounding: the contour is constant."""

_MOST_MOVES = 2**27
"""Bytes of moves that are kept; longer contours are warped more slowly in little memory."""
_CORNER, _LEFT, _ABOVE = 0, 1, 2


def exact_correlation(x: Contour, y: Contour) -> float:
    """Return the Pearson correlation of ``x`` and ``y`` along their cheapest warping path, NaN without variance."""
    if (x.size + y.size) * x.size > _MOST_MOVES:
        return _correlation_by_rows(x, y)
    return _correlation_by_diagonals(x, y)


@compiled(error_model="numpy", fastmath={"contract"})
def _correlation_by_diagonals(x: Contour, y: Contour) -> float:
    """Warp diagonal by diagonal, whose cells do not wait for each other, keep every move, and follow them back."""
    rows, columns = x.size, y.size
    flipped = y[::-1].copy()
    cost, step = np.full((3, rows + 2), np.inf), np.empty(rows)
    # a byte a cell; cells of a diagonal lie side by side, so that they are written in order
    moves = np.empty((rows + columns - 1, rows), np.int8)
    cost[1, 0] = 0.0
    for diagonal in range(rows + columns - 1):
        low, high = max(0, diagonal - columns + 1), min(rows, diagonal + 1)
        now, last, before = cost[diagonal % 3], cost[(diagonal + 2) % 3], cost[(diagonal + 1) % 3]
        shift = columns - 1 - diagonal
        _steps(x[low:high], flipped[low + shift : high + shift], step[: high - low])
        _cells(
            step[: high - low],
            before[low:high],
            last[low + 1 : high + 1],
            last[low:high],
            now[low + 1 : high + 1],
            moves[diagonal, low:high],
        )
        # cells outside the matrix: the three arrays are used in turn and hold older diagonals
        now[low] = now[high + 1] = before[low] = np.inf
    sums = np.zeros(6)
    i, j = rows - 1, columns - 1
    while i >= 0 and j >= 0:
        sums += np.array([1.0, x[i], y[j], x[i] * x[i], y[j] * y[j], x[i] * y[j]])
        move = moves[i + j, i]
        if move != _LEFT:
            i -= 1
        if move != _ABOVE:
            j -= 1
    return _pearson(sums)


@compiled(error_model="numpy", fastmath={"contract"})
def _steps(x: Contour, y: Contour, out: Contour) -> None:
    for k in range(out.size):
        out[k] = abs(x[k] - y[k])


@compiled(error_model="numpy", fastmath={"contract"})
def _cells(
    step: Contour, corner: Contour, left: Contour, above: Contour, best: Contour, moves: NDArray[np.int8]
) -> None:
    """Fill the cells of one diagonal: their costs and where each came from."""
    for k in range(best.size):
        by_corner, by_left, by_above = corner[k] + step[k], left[k] + step[k], above[k] + step[k]
        # without branches, so that the loop vectorises; strict comparisons keep librosa's order of ties
        first = min(by_corner, by_left)
        best[k] = min(first, by_above)
        moves[k] = np.int8(_ABOVE) if by_above < first else np.int8(_LEFT if by_left < by_corner else _CORNER)


@compiled()
def _correlation_by_rows(x: Contour, y: Contour) -> float:
    """Warp row by row; the sums of the correlation travel with each cell's path: memory grows with ``y`` alone."""
    columns = y.size
    cost = np.full(columns, np.inf)
    sums = np.zeros((columns, 6))
    corner_sums = np.zeros(6)
    for i in range(x.size):
        corner = 0.0 if i == 0 else np.inf
        corner_sums[:] = 0.0
        for j in range(columns):
            a, b = x[i], y[j]
            step = abs(a - b)
            above = cost[j]
            left = cost[j - 1] if j > 0 else np.inf
            best, move = corner + step, _CORNER
            if left + step < best:
                best, move = left + step, _LEFT
            if above + step < best:
                best, move = above + step, _ABOVE
            cost[j] = best
            corner = above
            for k in range(6):
                own = sums[j, k]
                if move == _CORNER:
                    sums[j, k] = corner_sums[k]
                elif move == _LEFT:
                    sums[j, k] = sums[j - 1, k]
                corner_sums[k] = own
            sums[j, 0] += 1.0
            sums[j, 1] += a
            sums[j, 2] += b
            sums[j, 3] += a * a
            sums[j, 4] += b * b
            sums[j, 5] += a * b
    return _pearson(sums[columns - 1])


@compiled()
def _pearson(sums: Contour) -> float:
    """Return the correlation from count, sums, sums of squares and of products; NaN without variance."""
    n, sx, sy, sxx, syy, sxy = sums
    # in one pass; the digits that this loses are what ROUNDING allows for
    var_x, var_y = sxx - sx * sx / n, syy - sy * sy / n
    if var_x <= ROUNDING * sxx or var_y <= ROUNDING * syy:
        return np.nan
    return float((sxy - sx * sy / n) / np.sqrt(var_x * var_y))


@compiled()
def fast_path(x: Contour, y: Contour, radius: int = 1) -> tuple[float, Path]:
    """Return the cost and the path, shape ``(steps, 2)``, that FastDTW finds between ``x`` and ``y``.

    The contours are halved until one has fewer than ``radius + 2`` values, warped exactly there, and warped again at
    each finer level within ``radius`` cells of the coarser path: time and memory grow linearly with the length.
    """
    levels = 0
    while min(x.size >> levels, y.size >> levels) >= radius + 2:
        levels += 1
    coarse_x, coarse_y = _halved(x, levels), _halved(y, levels)
    low = np.zeros(coarse_x.size, np.int64)
    cost, path = _warp(coarse_x, coarse_y, low, low + coarse_y.size)
    for level in range(levels - 1, -1, -1):
        fine_x, fine_y = _halved(x, level), _halved(y, level)
        low, high = _window(path, fine_x.size, fine_y.size, radius)
        cost, path = _warp(fine_x, fine_y, low, high)
    return cost, path


@compiled()
def _halved(contour: Contour, times: int) -> Contour:
    """Return the means of neighbours, of their means, and so on."""
    out = contour.copy()
    size = out.size
    for _ in range(times):
        # fastdtw drops the last value of an odd length
        size //= 2
        for k in range(size):
            out[k] = (out[2 * k] + out[2 * k + 1]) / 2.0
    return out[:size]


@compiled()
def _window(path: Path, rows: int, columns: int, radius: int) -> tuple[Path, Path]:
    """Return for each row of the finer level the first column of its window and the one after the last."""
    coarse_rows = path[-1, 0] + 1
    low = np.full(coarse_rows + radius, columns)
    high = np.zeros(coarse_rows + radius, np.int64)
    for step in range(path.shape[0]):
        for row in range(max(0, path[step, 0] - radius), min(low.size, path[step, 0] + radius + 1)):
            low[row] = min(low[row], 2 * (path[step, 1] - radius))
            high[row] = max(high[row], 2 * (path[step, 1] + radius + 1))
    fine_low, fine_high = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for row in range(rows):
        fine_low[row] = max(0, low[row // 2])
        fine_high[row] = min(columns, high[row // 2])
    return fine_low, fine_high


@compiled()
def _warp(  # noqa: C901 - one pass over the cells; calls in the inner loop would cost more than it does
    x: Contour, y: Contour, low: Path, high: Path
) -> tuple[float, Path]:
    """Warp within the window: row i may use the columns from ``low[i]`` to before ``high[i]``."""
    rows = x.size
    start = np.zeros(rows + 1, np.int64)
    for i in range(rows):
        start[i + 1] = start[i] + high[i] - low[i]
    cost = np.empty(start[rows])
    moves = np.empty(start[rows], np.int8)
    for i in range(rows):
        for j in range(low[i], high[i]):
            here = start[i] + j - low[i]
            above = left = corner = np.inf
            if i > 0:
                before = start[i - 1] - low[i - 1]
                if low[i - 1] <= j < high[i - 1]:
                    above = cost[before + j]
                if low[i - 1] <= j - 1 < high[i - 1]:
                    corner = cost[before + j - 1]
            elif j == 0:
                corner = 0.0
            if j > low[i]:
                left = cost[here - 1]
            # fastdtw takes the minimum of (above, left, corner) in this order, the first of equal ones; it compares
            # with the step added, whose rounding makes equal what was not
            step = abs(x[i] - y[j])
            best, move = above + step, 0
            if left + step < best:
                best, move = left + step, 1
            if corner + step < best:
                best, move = corner + step, 2
            cost[here] = best
            moves[here] = move
    return cost[-1], _backtrack(moves, low, start, y.size)


@compiled()
def _backtrack(moves: NDArray[np.int8], low: Path, start: Path, columns: int) -> Path:
    i, j = low.size - 1, columns - 1
    path = np.empty((low.size + columns, 2), np.int64)
    step = path.shape[0]
    while i >= 0 and j >= 0:
        step -= 1
        path[step, 0], path[step, 1] = i, j
        move = moves[start[i] + j - low[i]]
        if move != 1:
            i -= 1
        if move != 0:
            j -= 1
    return path[step:]
