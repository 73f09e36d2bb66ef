"""A quantity of an axis or a column: the overall score or one metric, with label, direction and digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan

from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import Metric
from codec_superb.web.rows import CodecResult
from codec_superb.web.text import number

SCORE_KEY = "score"
"""Key of the overall score; no metric has it."""

_FINE_SPAN = 2.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measured thing with one value per codec and category."""

    key: str
    label: str
    unit: str
    higher_is_better: bool
    decimals: int

    @property
    def title(self) -> str:
        """Label and unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def axis_title(self) -> str:
        """Title of an axis on which further up, or right, is better."""
        return self.title if self.higher_is_better else f"{self.title}, lower is better (axis reversed)"

    def of(self, result: CodecResult) -> Estimate | None:
        """Its value for one codec; None where the codec has none."""
        summary = result.summary
        return (
            summary.score.over(summary.ok, summary.failed) if self.key == SCORE_KEY else summary.metrics.get(self.key)
        )

    def write(self, value: float | None) -> str:
        """Write a value of it."""
        return number(value, self.decimals)


SCORE = Quantity(SCORE_KEY, "Overall score", "", higher_is_better=True, decimals=3)


def from_metric(metric: Metric) -> Quantity:
    """Make the quantity of a metric: three decimals for narrow ranges such as STOI's, one for dB, else two."""
    span = metric.maximum - metric.minimum
    decimals = 3 if isfinite(span) and span <= _FINE_SPAN else 1 if metric.unit == "dB" else 2
    return Quantity(metric.key, metric.label, metric.unit, metric.higher_is_better, decimals)


def metrics_present(results: Sequence[CodecResult], table: Mapping[str, Metric]) -> list[Metric]:
    """Metrics that a codec of ``results`` carries, in the order of the table."""
    present = {key for result in results for key in result.summary.metrics}
    return [metric for key, metric in table.items() if key in present]


def by_bitrate(results: Sequence[CodecResult]) -> list[CodecResult]:
    """Order codecs by measured bitrate, those of which no clip came back last: their numbers on the page."""
    return sorted(results, key=lambda row: (isnan(row.kbps), 0.0 if isnan(row.kbps) else row.kbps, row.codec))
