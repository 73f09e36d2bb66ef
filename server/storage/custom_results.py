"""Results of metrics that are not of the benchmark's table: kept with a submission's document, shown, never ranked.

They stand nowhere else: the board, its charts and the comparisons read ``Result.metrics``, which has the table's alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from codec_superb.metrics.results import Estimate, ResultSummary
from codec_superb.pipeline.runs.info import CustomMetric
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.record import Record
from codec_superb.web.site.custom import CustomRow

FIELD = "custom_results"
"""Where they stand in the document."""


class CustomResult(Record):
    """One custom metric on one dataset, in one category of it."""

    key: str
    version: str
    metric: CustomMetric
    dataset: str
    category: str
    result: Estimate


def document_of(submission: Submission, datasets: Iterable[ResultSummary]) -> dict[str, Any]:
    """Return what a document keeps of the custom metrics of ``datasets``; nothing where there are none."""
    found = [
        CustomResult(
            key=key,
            version=submission.metrics[key],
            metric=metric,
            dataset=summary.datasets[0],
            category=summary.category,
            result=summary.metrics[key],
        ).model_dump(mode="json")
        for key, metric in sorted(submission.custom_metrics.items())
        for summary in datasets
        if key in summary.metrics
    ]
    return {FIELD: found} if found else {}


def custom_results(document: Mapping[str, Any]) -> list[CustomRow]:
    """Read them back as rows of a page, by metric and dataset."""
    return [_row(CustomResult.model_validate(entry)) for entry in document.get(FIELD, ())]


def _row(found: CustomResult) -> CustomRow:
    metric, result = found.metric, found.result
    return CustomRow(
        key=found.key, version=found.version, label=metric.label, unit=metric.unit,
        higher_is_better=metric.higher_is_better, definition=metric.definition, origin=metric.origin,
        dataset=found.dataset, category=found.category, mean=result.mean, low=result.low, high=result.high, n=result.n,
        undefined=result.undefined, failed=result.failed,
    )  # fmt: skip
