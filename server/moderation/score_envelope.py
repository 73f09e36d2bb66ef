"""The highest score that others leave likely at a bitrate, of which a result that is better waits for a moderator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

import numpy as np

from codec_superb.metrics.overall import normalise
from codec_superb.metrics.table import Category, overall_metrics
from codec_superb.pipeline.literature.records import TABLES
from codec_superb.pipeline.literature.tables import published_table
from codec_superb.server.moderation.score_deviation import BAND

CROWD = 10
"""Senders that a score must be far above before it is too good: where one is alone in a band, any is far ahead."""
TOO_GOOD = 0.1
"""Lead over every codec of similar bitrate from which on somebody looks first."""
FALL = 0.05
"""What a score loses where the bitrate is halved. The best codecs of speech lose 0.056 an octave from 72 to 0.7 kbps
(28 classical ones on ``mini``), 0.044 and 0.071 from 24 to 1 and 1.5 kbps (the published tables)."""
RISE = 0.1
"""What bits beyond those of the band may bring an octave, where only codecs with fewer are there to compare with."""
NEARLY_ORIGINAL = 0.97
"""Score of a lossy codec from which on half the lead waits, since the next best have little room above."""
NEAR = 3.0
"""Times its bitrate up to which codecs are as good as they are: DAC at 6 kbps is 0.08 better than what has twice as
many bits (the published tables, music)."""
FALL_OF_PUBLISHED, NEAR_OF_PUBLISHED = 0.07, 1.5
"""The same of the scores of published tables, which stand for codecs of any bitrate: their best lose 0.071 an octave
from 24 to 1.5 kbps, and none lies more than 0.031 above what the others leave so. By FALL and NEAR, DAC at 6 kbps would
leave 0.66 likely of speech at 50 bit/s."""
SPOKEN_KBPS = 0.039
"""What speech says, in 17 languages: Coupé et al., "Different languages, similar encoding efficiency", Science Advances
5(9), 2019. With fewer bits not even the words are there, and less than the name of a clip where clips take a second.
The lowest of the catalogue has three times as many (MOSS, one codebook, 0.125), of the published tables 19 times."""
FLOORS: Mapping[str, float] = MappingProxyType({"speech": 0.45, "audio": 0.55, "music": 0.35})
"""Scores that need no bits. On ``mini``: a constant 0.434 on speech, noise with the spectrum and the level of each clip
0.541 on audio and 0.315 on music, silence and white noise less."""


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """The result of another codec on one dataset in one category."""

    codec: str
    family: str
    kind: str
    kbps: float
    score: float
    low: float | None
    high: float | None
    own: bool = False
    """Whether the account that sends now reported it itself: a ladder of its own codecs must not lift what is usual."""
    sender: str | int = ""
    """The account that reported it, or the submission where each counts: verified, or without an account."""


_PUBLISHED = "published"
"""Kind of a score of a table."""


@cache
def published_results(category: Category) -> Sequence[ComparedResult]:
    """Return the codecs of the published tables with a bitrate in kbps and an overall score of 0 to 1.

    Measures of what is likely where few have sent anything.
    """
    return [
        ComparedResult(f"{table}:{codec.id}", codec.id, _PUBLISHED, codec.kbps, codec.scores[category], None, None)
        for table in TABLES
        for codec in published_table(table).codecs
        if codec.kbps is not None and category in codec.scores
    ]


@cache
def published_metrics(category: Category) -> Mapping[str, Sequence[ComparedResult]]:
    """Return what they reached by each metric of the score, by its key, normalised to 0 to 1 as the score takes it."""
    found: dict[str, list[ComparedResult]] = {}
    for table in TABLES:
        for codec in published_table(table).codecs:
            for key in overall_metrics(category):
                told = codec.metrics.get(category, {})
                mean = told.get(key, told.get(f"{key}_praat"))  # the table's pitch is Praat's
                if codec.kbps is not None and mean is not None:
                    value = float(normalise(key, np.asarray(mean)))
                    found.setdefault(key, []).append(
                        ComparedResult(f"{table}:{codec.id}", codec.id, "", codec.kbps, value, None, None)
                    )
    return found


def crowd(kbps: float, others: Sequence[ComparedResult]) -> list[ComparedResult]:
    """Return those of about this bitrate, or up to that of the tenth sender above, or down to it where fewer are above.

    None where there are fewer than ten other senders. However many codecs an account has reported, it is one sender;
    its own are left out.
    """
    known = sorted((other for other in others if not other.own), key=lambda other: other.kbps)
    for below in (False, True):
        above = [other for other in known if other.kbps >= kbps / BAND]
        if len(senders := _first_rates(above)) >= CROWD:
            reach = max(senders[CROWD - 1], kbps * BAND)
            return [other for other in above if other.kbps <= reach]
        nearest = [*above, *reversed(known[: len(known) - len(above)])] if below else []
        if len(senders := _first_rates(nearest)) >= CROWD:
            reach = min(senders[CROWD - 1], kbps / BAND)
            return [other for other in known if other.kbps >= reach]
    return []


def _first_rates(nearest: Sequence[ComparedResult]) -> list[float]:
    """Return the bitrate at which each sender comes first, in their order."""
    first: dict[str | int, float] = {}
    for other in nearest:
        first.setdefault(other.sender, other.kbps)
    return [*first.values()]


def with_published(
    kbps: float, category: Category, near: Sequence[ComparedResult], others: Sequence[ComparedResult]
) -> list[ComparedResult]:
    """Put what was published at as many bits, or most, beside the crowd ``near``, which may be of one kind of codecs.

    On a young board without one, where the first of all would be its own measure, beside all ``others``.
    """
    published = published_results(category)
    least = min(kbps / BAND, max(other.kbps for other in published))
    best = [other for other in published if other.kbps >= least]
    if not near:
        return [*(other for other in others if not other.own), *best]
    # beside a crowd more bits than any published codec has bring nothing
    return [*near, *(replace(other, kbps=max(other.kbps, kbps / BAND)) for other in best)]


def likely(kbps: float, rivals: Sequence[ComparedResult], category: str) -> float:
    """Return the best score that one of the rivals would leave at ``kbps``, at least that of no bits at all.

    Example: 0.64 at 6 kbps leaves 0.64 at 2 kbps and 0.54 at 0.5 kbps, two octaves below 2; it leaves 0.74 at 18 kbps,
    an octave above 9.
    """
    return max(FLOORS[category], *(_left(kbps, other) for other in rivals))


def _left(kbps: float, other: ComparedResult) -> float:
    fall, near = (FALL_OF_PUBLISHED, NEAR_OF_PUBLISHED) if other.kind == _PUBLISHED else (FALL, NEAR)
    lost = fall * max(0.0, math.log2(other.kbps / near / kbps))
    return other.score - lost + RISE * max(0.0, math.log2(kbps / BAND / other.kbps))


def lead(score: float) -> float:
    """Return by how much a score may lie above what is likely: half as much where it is nearly that of the original."""
    return TOO_GOOD if score < NEARLY_ORIGINAL else TOO_GOOD / 2
