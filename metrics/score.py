"""Score one pair with several metrics at once, sharing spectra, resampling and pitch between them.

reference = prepare(original, rate)                    # once per clip
for codec in codecs:
    values = score_pair(reference, resynthesis[codec], rate, metrics_for("speech"))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from codec_superb.metrics.errors import MissingPackage, Undefined
from codec_superb.metrics.signals import Audio, Signal, pair
from codec_superb.metrics.table import Backends, Metric, metric
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
    name that does not exist.
    """
    rows = list(dict.fromkeys(metric(each) if isinstance(each, str) else each for each in metrics))
    first, second = pair(reference, resynthesis, rate)
    chosen = dict(backends)
    functions = [metric_function(row, chosen.get(row.key)) for row in rows]
    return {row.key: _value(row, call, first, second, rate) for row, call in zip(rows, functions, strict=True)}


@cache
def metric_function(of: str | Metric, backend: str | None = None) -> MetricFunction:
    """Return the function of a key of the table or of a row, imported on first use.

    Raises UnknownMetric, UnknownBackend.
    """
    row = metric(of) if isinstance(of, str) else of
    return cast("MetricFunction", load(row.target_of(backend or row.default_backend)))


def _value(row: Metric, function: MetricFunction, reference: Signal, resynthesis: Signal, rate: int) -> MetricResult:
    try:
        number = float(function(reference, resynthesis, rate))
    except Undefined as undefined:
        return MetricResult("undefined", None, str(undefined))
    except MissingPackage:
        raise  # the same for every clip: stop at the first instead of counting failures
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in one metric must not take the others along
        return MetricResult("failed", None, f"{type(error).__name__}: {error}")
    if not math.isfinite(number) or not row.minimum <= number <= row.maximum:
        return MetricResult("failed", None, f"{number} lies outside [{row.minimum}, {row.maximum}]")
    return MetricResult("ok", number)
