"""Who is left out of the results, and why: rules of ITU-R BS.1534-3 and ITU-T P.808, decided after the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

from codec_superb.server.listening_tests.definition import GOLD, MID_ANCHOR, REFERENCE, TestSettings
from codec_superb.server.listening_tests.plan import TRAINING, Trial

MANY = 0.25
"""Where more than this share of the listeners rates the mid anchor of an item high, the item is not held against them
(BS.1534-3, post-screening)."""
_BAD = 2.0
"""Highest rating of modulated noise that is right: one above the worst."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What one participant answered: by trial, the rating of each condition."""

    participant: int
    finished: bool
    ratings: Mapping[str, Mapping[str, float]]


def reasons(settings: TestSettings, listeners: Sequence[Answered], questions: Sequence[Trial]) -> dict[int, str]:
    """Return why participants are left out, by participant; those that stay are not in it.

    ``questions`` are the test's gold questions and traps.
    """
    left: dict[int, str] = {}
    excused = _excused(settings, [listener for listener in listeners if listener.finished])
    for listener in listeners:
        reason = _reason(settings, listener, questions, excused)
        if reason:
            left[listener.participant] = reason
    return left


def counted(ratings: Mapping[str, Mapping[str, float]], questions: Sequence[Trial]) -> dict[str, Mapping[str, float]]:
    """Return the answers that results rest on: without training, gold questions and traps."""
    asked = {trial.key for trial in questions}
    return {key: of for key, of in ratings.items() if key not in asked and not key.startswith(TRAINING)}


def _reason(settings: TestSettings, listener: Answered, questions: Sequence[Trial], excused: frozenset[str]) -> str:
    if not listener.finished:
        return "did not finish"
    if settings.kind == "mushra":
        return _mushra(settings, listener, excused)
    wrong = [trial for trial in questions if not _right(trial, listener.ratings[trial.key])]
    if any(trial.role == "trap" for trial in wrong):
        return "answered a recorded question wrongly"
    gold = [trial for trial in questions if trial.role == "gold"]
    missed = sum(trial.role == "gold" for trial in wrong)
    if _more(missed, settings.gold_share, gold):
        return f"answered more than {settings.gold_share:.0%} of the gold questions wrongly"
    noise = [listener.ratings[trial.key][GOLD] for trial in gold if not trial.pair[0]]
    originals = [of[REFERENCE] for of in counted(listener.ratings, questions).values() if REFERENCE in of]
    # who always answers 1 has every gold question right
    if noise and originals and fmean(originals) <= fmean(noise):
        return "rated the originals no better than the noise of the gold questions"
    return ""


def _right(trial: Trial, given: Mapping[str, float]) -> bool:
    if trial.role == "trap":
        return trial.answer in given.values()
    if not trial.pair[0]:
        return given[GOLD] <= _BAD
    # AB: the reference was preferred; ABX: one row, 1 for right
    return given.get(REFERENCE, next(iter(given.values()))) == 1.0


def _mushra(settings: TestSettings, listener: Answered, excused: frozenset[str]) -> str:
    items = counted(listener.ratings, ())
    limit, share = settings.reference_below, settings.reference_share
    low = sum(of[REFERENCE] < limit for of in items.values())
    if _more(low, share, items):
        return f"rated the hidden reference below {limit:g} on more than {share:.0%} of the items"
    high = sum(of.get(MID_ANCHOR, 0) > limit for clip, of in items.items() if clip not in excused)
    if _more(high, share, items):
        return f"rated the mid anchor above {limit:g} on more than {share:.0%} of the items"
    return ""


def _more(number: int, share: float, of: Sized) -> bool:
    """Whether a number is more than a share that is written as a decimal: 0.35 of 180 is 63, in binary less."""
    return number > Fraction(str(share)) * len(of)


def _excused(settings: TestSettings, listeners: Sequence[Answered]) -> frozenset[str]:
    """Find the items that the anchor hardly degrades: more than a quarter of the listeners rate it high."""
    found = set()
    for clip in settings.found:
        heard = [of.ratings[clip].get(MID_ANCHOR, 0.0) for of in listeners if clip in of.ratings]
        if heard and sum(value > settings.reference_below for value in heard) > MANY * len(heard):
            found.add(clip)
    return frozenset(found)
