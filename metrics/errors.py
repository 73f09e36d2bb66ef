"""Errors and undefined values of metrics; none of them is ever replaced by a number."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MetricError(Exception):
    """Base of this package's errors."""


class Undefined(MetricError):
    """The metric has no meaning on this pair (PESQ where no utterance is found): the text is the reason shown."""


class InvalidAudio(MetricError):
    """The arrays do not follow the contract (shape, dtype, NaN, unequal length): expected and got are in the text."""


class UnknownBackend(MetricError):
    """The metric has no implementation of this name; the text lists those that it has."""


class UnusableBackend(MetricError):
    """An implementation of a metric does not work on this machine; the text says how that was found out."""


class UnknownMetric(MetricError):
    """No metric has this key; the text names near matches and all that exist."""

    def __init__(self, key: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(key, names, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"There is no metric {key!r}.{hint} Metrics: {', '.join(names)}.")


class MissingPackage(MetricError):
    """A metric was asked for whose optional package is not installed; the text is the command that installs it."""


class MissingMetric(MetricError):
    """An overall score was asked for without one of its metrics: a score over fewer metrics is never given silently."""
