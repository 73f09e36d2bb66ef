"""Pareto front of bitrate and quality: the codecs that no other one exceeds at its bitrate or less."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import overall_metrics
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.rows import CodecResult
from codec_superb.web.senders import Failures, fails_more, sent

On = tuple[tuple[str, ...], tuple[str | None, ...]]
"""Datasets, and in which state they were and by which definitions a value was computed."""


class Measured(NamedTuple):
    """What a point rests on, and who sends it."""

    on: On
    sender: str
    usual: bool = False
    """Whether a board ranks what rests on it."""


def measured_of(row: CodecResult, key: str) -> Measured | None:
    """Say what the value ``key`` of a codec rests on, and who sends it; None of published figures, without clips."""
    if not row.summary.clips:
        return None
    behind = overall_metrics(row.summary.category) if key == SCORE_KEY else (key,)
    how = (*map(row.states.get, row.summary.datasets), *map(row.definitions.get, behind))
    return Measured((row.summary.datasets, how), row.sender or f"codec:{row.codec}", row.usual)


def whole_of(points: Sequence[tuple[CodecResult, Estimate]]) -> list[bool]:
    """Tell which points are whole: all clips coded, and no more without a value than :func:`fails_more` allows."""
    whole = [row.summary.complete and not (row.uncounted or row.apart) for row, _ in points]
    places = [place for place, fit in enumerate(whole) if fit]
    told = [
        Failures(row.sender or row.codec, found.failed, found.n + found.failed)
        for row, found in (points[place] for place in places)
    ]
    for place, more in zip(places, fails_more(told), strict=True):
        whole[place] = not more
    return whole


def contenders(counted: Sequence[bool], whole: Sequence[bool], measured: Sequence[Measured | None]) -> list[int]:
    """Choose which points a front is drawn of: those whose bits were ``counted``, and of these the ``whole`` ones.

    Whoever chooses the clips, or lets some fail, is in front of others. Where no point is whole, all of them count. Of
    these with ``measured`` the ones that rest on something else than those of most senders are left out: other
    datasets, or clips under the same name, may be easier.

    >>> contenders([True, True, False], [True, False, True], [None] * 3)
    [0]
    """
    found = [place for place, is_counted in enumerate(counted) if is_counted]
    found = [place for place in found if whole[place]] or found
    usual = usually_on(each for place in found if (each := measured[place]) is not None)
    return [place for place in found if (each := measured[place]) is None or each.on == usual]


def usually_on(measured: Iterable[Measured]) -> On:
    """Return what a board ranks; without one what most senders have, then the oldest account, then most points.

    Then the more datasets, the first by name. Of none it is what has none.
    """
    told = list(measured)
    counts = sent((each.on, each.sender) for each in told)

    def order(on: On) -> tuple[int, str, int, int, str]:
        return -counts[on].senders, counts[on].first, -counts[on].found, -len(on[0]), str(on)

    return next((each.on for each in told if each.usual), None) or min(counts, key=order, default=((), ()))


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
