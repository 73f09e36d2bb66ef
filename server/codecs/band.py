"""Codecs of about the same measured bitrate as one codec, and the range of each of their metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf, isnan
from statistics import median

import numpy as np

from codec_superb.metrics.overall import on_scale
from codec_superb.metrics.table import METRICS, Metric
from codec_superb.server.board.entries import BoardEntry, board_row
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.moderation.score_deviation import votes
from codec_superb.web.figures.radar import AxisValue, RadarAxis
from codec_superb.web.quantity import from_metric
from codec_superb.web.rows import CodecResult
from codec_superb.web.senders import ENOUGH
from codec_superb.web.site.whose import ShownSource

FACTOR = 1.5
"""Widest ratio between the measured bitrate of the codec and that of a member of its band."""


@dataclass(frozen=True, slots=True)
class Band:
    """The other codecs between ``low`` and ``high`` kbps that were measured on all clips of the same datasets."""

    low: float
    high: float
    members: tuple[CodecResult, ...]
    """By bitrate, without the codec itself."""
    other_datasets: int
    """Codecs of that bitrate that are left out: their numbers rest on other datasets, other states, or definitions, on
    some of the clips, or nobody counted their bits."""
    source: ShownSource = "runs"
    """Whether all of them were run again."""


def usual_band(
    own: CodecResult, states: Mapping[str, str], definitions: Mapping[str, str], snapshot: Snapshot
) -> Band | None:
    """Choose the band of what was run again where enough was, else of all submissions; see :func:`band_of`."""
    found = band_of(own, states, definitions, snapshot.entries("verified"))
    if snapshot.preferred == "verified" and found is not None and len(found.members) >= ENOUGH:
        return replace(found, source="verified")
    return band_of(own, states, definitions, snapshot.runs)


def band_of(
    own: CodecResult, states: Mapping[str, str], definitions: Mapping[str, str], entries: Sequence[BoardEntry]
) -> Band | None:
    """Choose the members of the band among the codecs of the board; None without a measured bitrate.

    ``states`` maps each of the codec's own datasets to the hash of its manifest, ``definitions`` each of its metrics to
    the version of its definition: only codecs measured on the same states by the same definitions are comparable.
    """
    if isnan(own.kbps) or own.kbps <= 0:
        return None
    low, high = own.kbps / FACTOR, own.kbps * FACTOR
    mine = {(name, states.get(name)) for name in own.summary.datasets}
    members, elsewhere = [], 0
    for entry in entries:
        figures = entry.figures.get((own.summary.category, ""))
        if entry.codec == own.codec or figures is None or figures.kbps is None or not low <= figures.kbps <= high:
            continue
        same = all(entry.definitions.get(key, version) == version for key, version in definitions.items())
        same &= entry.counted and figures.complete
        if same and set(zip(figures.datasets, figures.states, strict=True)) == mine:
            members.append(board_row(entry, own.summary.category, "", None, "").result)
        else:
            elsewhere += 1
    return Band(low, high, tuple(sorted(members, key=lambda row: (row.kbps, row.codec))), elsewhere)


def axes(own: CodecResult, members: Sequence[CodecResult]) -> list[RadarAxis]:
    """Make an axis for each metric of the codec with a value, in the order of the metric table."""
    found = []
    for key, metric in METRICS.items():
        mine = _value(own, key)
        if mine is None:
            continue
        told = [(row.sender, value) for row in members if (value := _value(row, key)) is not None]
        theirs = [value for _, value in told]
        ordered = sorted(theirs, reverse=not metric.higher_is_better)
        found.append(
            RadarAxis(
                quantity=from_metric(metric),
                scale=scale_words(metric),
                own=_reading(metric, mine),
                median=_reading(metric, median(votes(told))) if told else None,
                worst=_reading(metric, ordered[0]) if theirs else None,
                best=_reading(metric, ordered[-1]) if theirs else None,
                others=len(theirs),
            )
        )
    return found


def _value(row: CodecResult, key: str) -> float | None:
    estimate = row.summary.metrics.get(key)
    return None if estimate is None else estimate.mean


def _reading(metric: Metric, value: float) -> AxisValue:
    return AxisValue(value, float(on_scale(metric, np.asarray(value))))


def scale_words(metric: Metric) -> str:
    """Return the values drawn at 0 and at 1 of the metric's axis."""
    known = "as in the overall score: " if metric.overall else ""
    if isinf(metric.worst):
        return f"{known}1 / (1 + exp(−1 / d)), so 1 at no distance and 0.5 far away"
    if (metric.worst, metric.best) == (0.0, 1.0):
        return "the value itself, a negative one as 0"
    ends = (_number(end, metric.unit) for end in (metric.worst, metric.best))
    if metric.higher_is_better and isinf(metric.maximum):
        return "{}0 at {} and below, 1 at {} and above".format(known, *ends)
    return "{}0 at {}, 1 at {}".format(known, *ends)


def _number(value: float, unit: str) -> str:
    return f"{value:g}{' dB' if unit == 'dB' else ''}".replace("-", "−")
