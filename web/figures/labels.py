"""Chooses the points of a chart that are labelled: as many as fit without overlap."""

from __future__ import annotations

from collections.abc import Sequence

# A chart of usual size; on a wider one there is only more room. Narrow screens show no labels at all.
_WIDTH = 720.0
_HEIGHT = 380.0
_LETTER = 6.6
_LINE = 16.0


def fitting_labels(
    positions: Sequence[tuple[float, float]], labels: Sequence[str], obstacles: Sequence[tuple[float, float]]
) -> list[bool]:
    """Decide for each label, set to the upper left of its point, whether it can be shown.

    ``positions`` and ``obstacles`` are fractions of the plot's width and height, from the lower left. The best, that
    is the highest, points go first. A label is left out where it would leave the plot, cover an obstacle (another
    marker) or another label.
    """
    shown = [False] * len(labels)
    taken: list[tuple[float, float, float, float]] = []
    for index in sorted(range(len(labels)), key=lambda i: (-positions[i][1], positions[i][0])):
        right = positions[index][0] * _WIDTH - 3
        bottom = positions[index][1] * _HEIGHT + 3
        box = (right - len(labels[index]) * _LETTER, bottom, right, bottom + _LINE)
        covered = any(_inside(x * _WIDTH, y * _HEIGHT, box) for x, y in obstacles)
        if box[0] >= 0 and not covered and not any(_overlap(box, other) for other in taken):
            shown[index] = True
            taken.append(box)
    return shown


def _inside(x: float, y: float, box: tuple[float, float, float, float]) -> bool:
    return box[0] < x < box[2] and box[1] < y < box[3]


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
