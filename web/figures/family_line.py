"""Which codecs of a family a line joins: one at a bitrate, so that no line runs upright."""

from __future__ import annotations

from collections.abc import Sequence

SAME_RATE = 1.02
"""Widest ratio between two measured bitrates that count as one: variants of a configuration spend about the same."""


def family_line(kbps: Sequence[float], values: Sequence[float], *, higher_is_better: bool = True) -> list[int]:
    """Choose the codecs of a family that its line joins: at each bitrate the best, the others stand apart.

    A bitrate reaches from the lowest codec up to 2 % above it, and the next one on the line is 2 % above the chosen one
    or more. Returns indices by ascending kbps. Raises ValueError when the lengths differ.

    >>> family_line([6, 12, 12.1, 24], [0.5, 0.7, 0.6, 0.8])
    [0, 1, 3]
    """
    gains = values if higher_is_better else [-value for value in values]
    line: list[int] = []
    lowest = 0.0
    for rate, gain, index in sorted(zip(kbps, gains, range(len(kbps)), strict=True)):
        if not line or rate > kbps[line[-1]] * SAME_RATE:
            line.append(index)
            lowest = rate
        elif rate <= lowest * SAME_RATE and gain > gains[line[-1]]:
            line[-1] = index
    return line
