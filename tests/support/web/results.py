"""Records of results for tests of pages and charts: what a test says, and nothing besides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.metrics.results import NO_SCORE, Estimate, ResultSummary, Score
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel


def estimate(
    mean: float | None,
    low: float | None = None,
    high: float | None = None,
    n: int = 0,
    undefined: int = 0,
    failed: int = 0,
    sd: float | None = None,
) -> Estimate:
    """Make an estimate."""
    return Estimate(n=n, undefined=undefined, failed=failed, mean=mean, sd=sd, low=low, high=high)


def score(value: float | None, low: float | None = None, high: float | None = None) -> Score:
    """Make a value with its interval."""
    return Score(value=value, low=low, high=high)


def summary(**fields: Any) -> ResultSummary:
    """Make a summary of a codec that nothing is known of but ``fields``; what is no failed clip is ok."""
    clips, failed = fields.get("clips", 0), fields.get("failed", 0)
    nothing = dict.fromkeys(ResultSummary.model_fields) | {
        "category": "speech", "datasets": ("mini",), "complete": True, "clips": clips, "ok": clips - failed,
        "failed": failed, "seconds": 0.0, "clipped_samples": 0, "score": NO_SCORE, "metrics": {},
    }  # fmt: skip
    return ResultSummary.model_validate(nothing | fields)


def changed(result: CodecResult, **fields: Any) -> CodecResult:
    """Replace fields of the result and of its summary; what is no failed clip is ok."""
    inside = {name: fields.pop(name) for name in ResultSummary.model_fields if name in fields}
    after = result.summary.model_copy(update=inside)
    after = after.model_copy(update={"ok": max(0, after.clips - after.failed)})
    return replace(result, summary=after, **fields)


def application_row(
    codec: str,
    dataset: str,
    figure: str,
    model: ProbeModel,
    kbps: float,
    reference: Score,
    value: Score,
    loss: Score,
    **counts: Any,
) -> ApplicationRow:
    """Make a row of one figure; ``counts`` are those of the aggregate."""
    none = {"probe": "", "n": 0, "left_out": 0, "failed": 0, "pairs": 0}
    numbers = ApplicationAggregate(
        figure=figure, dataset=dataset, reference=reference, resynthesis=value, loss=loss, **(none | counts)
    )
    return ApplicationRow(codec, numbers, model, kbps)


def changed_numbers(row: ApplicationRow, **fields: Any) -> ApplicationRow:
    """Replace fields of the row's aggregate."""
    return replace(row, numbers=row.numbers.model_copy(update=fields))
