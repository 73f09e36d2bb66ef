"""``score``: metrics of a pair of arrays, or of a batch of pairs, without a run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from codec_superb.api.arrays import Sound, check_axes, taken
from codec_superb.metrics.errors import InvalidAudio, MetricError
from codec_superb.metrics.plugged import find_metrics
from codec_superb.metrics.score import MetricResult, score_pair
from codec_superb.metrics.table import CATEGORIES, Category, Metric, metrics_for

Batch: TypeAlias = NDArray[np.float64]
Errors = Literal["raise", "nan"]


class Scored(NamedTuple):
    """What came of pairs."""

    results: list[dict[str, MetricResult]]
    """By metric, for each pair."""
    batch: bool
    """Whether the pairs were given as a batch."""


@overload
def score(
    reference: list[Sound], resynthesis: list[Sound], rate: int = ..., metrics: Sequence[str] | str | None = ...,
    *, category: Category = ..., errors: Errors = ...,
) -> dict[str, Batch]: ...  # fmt: skip
@overload
def score(
    reference: Sound, resynthesis: Sound, rate: int = ..., metrics: Sequence[str] | str | None = ...,
    *, category: Category = ..., errors: Errors = ...,
) -> dict[str, Any]: ...  # fmt: skip
def score(
    reference: Sound,
    resynthesis: Sound,
    rate: int = 16000,
    metrics: Sequence[str] | str | None = None,
    *,
    category: Category = "speech",
    errors: Errors = "raise",
) -> dict[str, Any]:
    """Compute ``metrics`` (default: those of ``category``) of a pair of sounds at ``rate`` Hz, or of a batch of pairs.

    A pair is two arrays ``(samples,)`` of one length, floating point in [-1, 1], numpy or torch; its values are
    numbers. A batch is two lists of sounds, ``(samples,)`` or ``(channels, samples)``, or two arrays ``(batch,
    samples)`` or ``(batch, channels, samples)``; its values are arrays ``(batch,)``. Channels are averaged.

    A metric without a meaning on a pair is NaN. One that crashes raises MetricError with its reason; with
    ``errors="nan"`` it is NaN too, and a warning says why. Raises InvalidAudio for what is no pair, UnknownMetric.
    """
    if category not in CATEGORIES:
        raise MetricError(f"category: expected {', '.join(CATEGORIES)}, got {category!r}")
    if errors not in get_args(Errors):
        raise MetricError(f"errors: expected 'raise' or 'nan', got {errors!r}")
    keys = metrics_for(category) if metrics is None else [metrics] if isinstance(metrics, str) else metrics
    rows = find_metrics(keys)
    given = scored(reference, resynthesis, rate, rows)
    values = {row.key: [_value(row, of[row.key], at, errors) for at, of in enumerate(given.results)] for row in rows}
    if given.batch:
        return {key: np.array(its) for key, its in values.items()}
    return {key: its[0] for key, its in values.items()}


def scored(reference: Sound, resynthesis: Sound, rate: int, rows: Sequence[Metric]) -> Scored:
    """Compute metrics of a pair or a batch, as :func:`score`; raises InvalidAudio where the two are not alike."""
    one, other = _sounds(reference, "reference"), _sounds(resynthesis, "resynthesis")
    if one[1] != other[1] or len(one[0]) != len(other[0]):
        raise InvalidAudio(
            "Reference and resynthesis must be two sounds or two batches of one size; "
            f"got {_told(one)} and {_told(other)}."
        )
    return Scored([score_pair(a, b, rate, rows) for a, b in zip(one[0], other[0], strict=True)], one[1])


def _sounds(given: Sound, name: str) -> tuple[list[NDArray[Any]], bool]:
    """Return mono sounds, and whether they are a batch."""
    if isinstance(given, list | tuple):
        if not given:
            raise InvalidAudio(f"The {name} must hold at least one sound; got an empty {type(given).__name__}.")
        return [_mono(taken(each, name), name) for each in given], True
    array = taken(given, name)
    if array.ndim == 1:
        return [array], False
    if array.ndim not in (2, 3) or not array.size:
        raise InvalidAudio(
            f"The {name} must be (samples,), (batch, samples) or (batch, channels, samples); got shape {array.shape}."
        )
    check_axes(array, name)
    return [_mono(each, name) for each in array], True


def _mono(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.ndim not in (1, 2) or not array.size:
        raise InvalidAudio(f"A {name} in a batch must be (samples,) or (channels, samples); got shape {array.shape}.")
    check_axes(array, name)
    return array if array.ndim == 1 else np.asarray(array.mean(axis=0, dtype=array.dtype))


def _told(sounds: tuple[list[NDArray[Any]], bool]) -> str:
    return f"a batch of {len(sounds[0])}" if sounds[1] else "one sound"


def _value(row: Metric, result: MetricResult, number: int, errors: Errors) -> float:
    if result.status == "failed":
        text = f"{row.key} failed on pair {number}: {result.reason}"
        if errors == "raise":
            raise MetricError(f"{text}; errors='nan' gives NaN for it and goes on")
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return np.nan if result.value is None else result.value
