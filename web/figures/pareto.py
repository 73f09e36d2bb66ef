"""Pareto front of bitrate and quality: the codecs that no other one exceeds at its bitrate or less."""

from __future__ import annotations

from collections.abc import Sequence


def contenders(counted: Sequence[bool], whole: Sequence[bool]) -> list[int]:
    """Choose which points a front is drawn of: those whose bits were ``counted``, and of these the ``whole`` ones.

    Whoever chooses the clips, or lets some fail, is in front of others. Where no point is whole, all of them count.

    >>> contenders([True, True, False], [True, False, True])
    [0]
    """
    found = [place for place, is_counted in enumerate(counted) if is_counted]
    return [place for place in found if whole[place]] or found


def pareto_front(kbps: Sequence[float], values: Sequence[float], *, higher_is_better: bool = True) -> list[int]:
    """Find the points of which no other has as few kbps and as good a value, and one of the two better.

    Returns indices by ascending kbps. Equal points are all kept. Raises ValueError when the lengths differ.

    >>> pareto_front([6, 12, 16, 24], [0.5, 0.7, 0.6, 0.8])
    [0, 1, 3]
    """
    gains = values if higher_is_better else [-value for value in values]
    order = sorted((rate, -gain, index) for index, (rate, gain) in enumerate(zip(kbps, gains, strict=True)))
    front: list[int] = []
    best: tuple[float, float] | None = None
    for rate, loss, index in order:
        if best is None or loss < best[1] or (rate, loss) == best:
            front.append(index)
            best = (rate, loss)
    return front
