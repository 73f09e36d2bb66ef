"""Score one pair with several metrics at once, sharing spectra, resampling and pitch between them.

reference = prepare(original, rate)                    # once per clip
for codec in codecs:
    values = score_pair(reference, resynthesis[codec], rate, metrics_for("speech"))
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from codec_superb.metrics.distortion import INFINITE
from codec_superb.metrics.errors import MissingPackage, Undefined, UnusableBackend
from codec_superb.metrics.signals import Audio, Signal, pair
from codec_superb.metrics.table import METRICS, REFERENCE_BACKEND, Backends, Metric, metric
from codec_superb.plugins import load

MetricFunction = Callable[[Audio, Audio, int], float]


@dataclass(frozen=True, slots=True)
class MetricResult:
    """The outcome of one metric on one pair."""

    status: Literal["ok", "undefined", "failed"]
    value: float | None
    """None unless status is ``ok``; then finite."""
    reason: str = ""
    """Why there is no value."""
    backend: str = ""
    """Implementation that ran, of a metric that has more than one."""


def prepare(reference: Audio, rate: int) -> Signal:
    """Validate a reference that several resyntheses will be scored against.

    What a metric derives from it (spectra, resampled forms, pitch) is kept with the returned object and computed once;
    let the object go when the clip is done. Raises InvalidAudio.
    """
    return pair(reference, reference, rate)[0]


def score_pair(
    reference: Audio, resynthesis: Audio, rate: int, metrics: Sequence[str | Metric], *, backends: Backends = ()
) -> dict[str, MetricResult]:
    """Score one mono pair: arrays of shape ``(samples,)``, equal length, same ``rate`` in Hz; a result for each key.

    ``metrics`` are keys of the table, or rows of plug-ins.
    ``reference`` may come from :func:`prepare`. A metric that raises Undefined is ``undefined``, one that raises
    anything else or returns a number outside its range is ``failed``; the others go on. Raises InvalidAudio when the
    pair itself is not valid, UnknownMetric (with near matches) for an unknown key, MissingPackage when a metric's extra
    is not installed. ``backends`` chooses implementations, such as ``(("pesq", "reference"),)``; UnknownBackend for a
    name that does not exist. Where one does not work on this machine, ``reference`` takes over with one RuntimeWarning
    a process; each result says which one ran.
    """
    rows = list(dict.fromkeys(metric(each) if isinstance(each, str) else each for each in metrics))
    first, second = pair(reference, resynthesis, rate)
    chosen = {row.key: row.default_backend for row in rows} | dict(backends)
    for row in rows:
        metric_function(row, chosen[row.key])  # a name that does not exist is refused before any work
    return {row.key: _value(row, chosen[row.key], first, second, rate) for row in rows}


def undefined_by_reference(reference: Audio, rate: int, metrics: Sequence[str] = tuple(METRICS)) -> frozenset[str]:
    """Return the keys of the metrics that are undefined on every resynthesis of a clip.

    ``reference`` is mono, shape ``(samples,)``, at ``rate`` Hz. A metric that is undefined of the clip against itself
    is undefined by the clip, but for a ratio that is infinite there: it is finite for any other resynthesis. Raises
    InvalidAudio, and UnknownMetric for a key that is not in the table.
    """
    found = score_pair(reference, reference, rate, metrics)
    return frozenset(key for key, result in found.items() if result.status == "undefined" and result.reason != INFINITE)


@cache
def metric_function(of: str | Metric, backend: str | None = None) -> MetricFunction:
    """Return the function of a key of the table or of a row, imported on first use.

    Raises UnknownMetric, UnknownBackend.
    """
    row = metric(of) if isinstance(of, str) else of
    return cast("MetricFunction", load(row.target_of(backend or row.default_backend)))


def _value(row: Metric, backend: str, reference: Signal, resynthesis: Signal, rate: int) -> MetricResult:
    ran = backend if row.backends else ""
    try:
        number = float(metric_function(row, backend)(reference, resynthesis, rate))
    except Undefined as undefined:
        return MetricResult("undefined", None, str(undefined), ran)
    except MissingPackage:
        raise  # the same for every clip: stop at the first instead of counting failures
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in one metric must not take the others along
        if isinstance(error, UnusableBackend) and backend != REFERENCE_BACKEND:
            _warn_once(
                f"{row.key}: {error}; the implementation {REFERENCE_BACKEND!r} takes over, with the same numbers"
            )
            return _value(row, REFERENCE_BACKEND, reference, resynthesis, rate)
        return MetricResult("failed", None, f"{type(error).__name__}: {error}", ran)
    if not math.isfinite(number) or not row.minimum <= number <= row.maximum:
        return MetricResult("failed", None, f"{number} lies outside [{row.minimum}, {row.maximum}]", ran)
    return MetricResult("ok", number, backend=ran)


@cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)  # the caller of score_pair
