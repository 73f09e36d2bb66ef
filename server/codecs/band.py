"""A codec among those of about its bitrate: who they are, and where each metric of theirs lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import median

from codec_superb.metrics.table import METRICS
from codec_superb.server.codecs.scales import SCALES
from codec_superb.web.figures.radar import RadarAxis, Reading
from codec_superb.web.quantity import from_metric
from codec_superb.web.report_data import CodecResult

FACTOR = 1.5
"""Widest ratio between the measured bitrate of the codec and that of a member of its band."""


@dataclass(frozen=True, slots=True)
class Band:
    """The other codecs between ``low`` and ``high`` kbps that were measured on the same datasets."""

    low: float
    high: float
    members: tuple[CodecResult, ...]
    """By bitrate, without the codec itself."""
    other_datasets: int
    """Codecs of that bitrate that are left out, because their numbers rest on other datasets."""


def limits(kbps: float) -> tuple[float, float]:
    """Return the band's ends in kbps; ValueError for a codec without a measured bitrate."""
    if isnan(kbps) or kbps <= 0:
        raise ValueError(f"expected a measured bitrate above 0 kbps, got {kbps}")
    return kbps / FACTOR, kbps * FACTOR


def band_of(own: CodecResult, others: Sequence[CodecResult]) -> Band:
    """Choose the members of the band among ``others``; those on other datasets cannot be compared and are counted."""
    low, high = limits(own.kbps)
    near = [row for row in others if row.codec != own.codec and low <= row.kbps <= high]
    same = [row for row in near if sorted(row.datasets) == sorted(own.datasets)]
    return Band(low, high, tuple(same), len(near) - len(same))


def axes(own: CodecResult, members: Sequence[CodecResult]) -> list[RadarAxis]:
    """Make an axis for each metric of the codec with a value, in the order of the metric table."""
    found = []
    for key, metric in METRICS.items():
        mine = _value(own, key)
        if mine is None:
            continue
        theirs = [value for value in (_value(row, key) for row in members) if value is not None]
        readings: Mapping[str, Reading | None] = dict.fromkeys(("median", "worst", "best"))
        if theirs:
            ordered = sorted(theirs, reverse=not metric.higher_is_better)
            readings = {
                "median": _reading(key, median(theirs)),
                "worst": _reading(key, ordered[0]),
                "best": _reading(key, ordered[-1]),
            }
        found.append(
            RadarAxis(from_metric(metric), SCALES[key].words, _reading(key, mine), others=len(theirs), **readings)
        )
    return found


def _value(row: CodecResult, key: str) -> float | None:
    estimate = row.metrics.get(key)
    return None if estimate is None else estimate.value


def _reading(key: str, value: float) -> Reading:
    return Reading(value, SCALES[key].of(value))
