"""From answers to results: means by condition, shares by pair, with intervals; listeners are the independent units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from codec_superb.pipeline.statistics.jackknife import interval, means, numbered
from codec_superb.pipeline.statistics.proportions import guessing, wilson
from codec_superb.server.listening_tests.answers import RANGES
from codec_superb.server.listening_tests.definition import TestSettings
from codec_superb.server.listening_tests.plan import JOINT, questions_of
from codec_superb.server.listening_tests.screening import Answered, counted, reasons
from codec_superb.web.site.listening_tests.view import ConditionResult, LeftOut, PairResult

_TIE = 0.5


class Analysis(NamedTuple):
    """What a test found."""

    left_out: dict[int, str]
    """Reason by participant."""
    reasons: list[LeftOut]
    conditions: list[ConditionResult]
    pairs: list[PairResult]


class _Value(NamedTuple):
    listener: str
    value: float


def analyse(settings: TestSettings, listeners: Sequence[Answered]) -> Analysis:
    """Screen the listeners and summarise the answers of those that stay."""
    questions = questions_of(settings)
    left = reasons(settings, listeners, questions)
    before: dict[str, list[_Value]] = {}
    after: dict[str, list[_Value]] = {}
    for listener in listeners:
        for key, value in _values(settings, counted(listener.ratings, questions)):
            found = _Value(str(listener.participant), value)
            before.setdefault(key, []).append(found)
            if listener.participant not in left:
                after.setdefault(key, []).append(found)
    conditions, pairs = [], []
    if settings.kind in RANGES:
        conditions = [_condition(settings, name, before, after) for name in settings.conditions]
    else:
        pairs = [_pair(settings, pair, before, after) for pair in settings.compared]
    counts = Counter(left.values()).most_common()
    return Analysis(left, [LeftOut(reason, count) for reason, count in counts], conditions, pairs)


def _values(settings: TestSettings, ratings: Mapping[str, Mapping[str, float]]) -> list[tuple[str, float]]:
    """Return the numbers of a listener by what they are about: a condition, or a pair."""
    if settings.kind in RANGES:
        return [(condition, value) for of in ratings.values() for condition, value in of.items()]
    found = []
    for key, of in ratings.items():
        first, second = key.split(JOINT)[-3:-1]
        pair = JOINT.join((first, second))
        found.append((pair, of[pair] if settings.kind == "abx" else of[first]))
    return found


def _condition(
    settings: TestSettings, name: str, before: Mapping[str, list[_Value]], after: Mapping[str, list[_Value]]
) -> ConditionResult:
    values, all_values = after.get(name, []), [entry.value for entry in before.get(name, [])]
    low, high = RANGES[settings.kind]
    mean, ends = _mean(values, low, high)
    quartiles: list[float | None] = [None, None, None]
    if values:
        # linear interpolation, numpy's default: type 7 of Hyndman and Fan (1996)
        quartiles = [float(value) for value in np.quantile([entry.value for entry in values], (0.25, 0.5, 0.75))]
    return ConditionResult(
        condition=name, n=len(values), listeners=len({entry.listener for entry in values}), n_before=len(all_values),
        mean_before=float(np.mean(all_values)) if all_values else None, mean=mean, low=ends and ends[0],
        high=ends and ends[1], median=quartiles[1], lower_quartile=quartiles[0], upper_quartile=quartiles[2],
    )  # fmt: skip


def _pair(
    settings: TestSettings, pair: tuple[str, str], before: Mapping[str, list[_Value]], after: Mapping[str, list[_Value]]
) -> PairResult:
    key = JOINT.join(pair)
    values = after.get(key, [])
    share, by_listener = _mean(values, 0, 1)
    if by_listener and by_listener[0] == by_listener[1]:
        by_listener = None  # all listeners agree: their spread says nothing of others
    successes = sum(entry.value for entry in values)
    ends = wilson(successes, len(values))
    return PairResult(
        first=pair[0], second=pair[1], n=len(values), listeners=len({entry.listener for entry in values}),
        n_before=len(before.get(key, [])), share=share, low=ends and ends[0], high=ends and ends[1],
        cluster_low=by_listener and by_listener[0], cluster_high=by_listener and by_listener[1],
        ties=sum(entry.value == _TIE for entry in values),
        p=guessing(round(successes), len(values)) if settings.kind == "abx" and values else None,
    )  # fmt: skip


def _mean(values: Sequence[_Value], low: float, high: float) -> tuple[float | None, tuple[float, float] | None]:
    """Return the mean and its interval, by the jackknife over listeners of decision 16."""
    if not values:
        return None, None
    table = np.array([[entry.value] for entry in values])
    centre = table.mean(axis=0)
    found = means(table, numbered([entry.listener for entry in values]), centre).column(0)
    return float(centre[0]), interval(found, low, high)
