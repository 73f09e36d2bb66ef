"""Doubts about answers that no codec leaves: far better than to the originals, or far less lost than by all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from codec_superb.applications.table import PROBE_METRICS
from codec_superb.server.moderation.score_deviation import BAND
from codec_superb.server.moderation.score_envelope import CROWD
from codec_superb.web.text import significant

PART = 0.5
"""Of the errors on the originals, or of the least loss of others: with fewer somebody looks first."""
ORIGINAL = 1e-6
"""How far from its best, in its unit, a likeness to the original may be and still be that of the original."""


class Rival(NamedTuple):
    """What another account's codec, or a verified one, has of the same measurement."""

    kbps: float
    figure: Mapping[str, Any]


def too_good(own: Mapping[str, Any], kbps: float | None, rivals: Sequence[Rival]) -> Iterator[str]:
    """Yield what is too good about a figure with its intervals, at ``kbps``; figures without intervals are left out."""
    metric = PROBE_METRICS[own["figure"]]
    best = metric.maximum if metric.higher_is_better else metric.minimum
    value, heard, loss = own["resynthesis"]["value"], own["reference"]["value"], own["loss"]
    if metric.alike and value is not None and abs(best - value) <= ORIGINAL:
        yield f"{own['figure']}: {significant(best)}, that of the original itself"
        return
    if value is None or heard is None or loss["value"] is None or loss["high"] is None:
        return
    if isfinite(best) and loss["high"] < 0 and abs(best - value) < PART * abs(best - heard):
        yield f"{own['figure']}: {significant(value)} on the resyntheses, {significant(heard)} on the originals"
        return
    # of a codec whose clips failed there is no interval
    lost = [
        rival.figure["loss"] for rival in _near(kbps, [of for of in rivals if of.figure["loss"]["low"] is not None])
    ]
    if len(lost) < CROWD:
        return
    least = min(each["value"] for each in lost)
    if min(each["low"] for each in lost) > max(0.0, loss["high"]) and loss["value"] < PART * least:
        told = (
            f"{significant(loss['value'])} is lost, {significant(least)} or more by {len(lost)} codecs of its bitrate"
        )
        yield f"{own['figure']}: {told}, or with the next ones above"


def _near(kbps: float | None, rivals: Sequence[Rival]) -> list[Rival]:
    """Return those of similar bitrate, or the next ten at higher ones where fewer are there."""
    above = sorted((rival for rival in rivals if kbps and rival.kbps >= kbps / BAND), key=lambda rival: rival.kbps)
    return [rival for place, rival in enumerate(above) if place < CROWD or rival.kbps <= (kbps or 0.0) * BAND]
