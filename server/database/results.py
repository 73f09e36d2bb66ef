"""Rows of the table ``results`` as the record that everything else takes, and back: the same fields by the same names.

A row keeps the score in the columns ``score``, ``low`` and ``high``, and says on which dataset its clips lie.
"""

from __future__ import annotations

from codec_superb.metrics.results import ResultSummary, Score
from codec_superb.metrics.table import METRICS
from codec_superb.server.database.models import Result

_SAME = tuple(name for name in ResultSummary.model_fields if name != "score")


def to_summary(row: Result) -> ResultSummary:
    """Read a row."""
    fields = {name: getattr(row, name) for name in _SAME}
    return ResultSummary(**fields, score=Score(value=row.score, low=row.low, high=row.high))


def to_row(summary: ResultSummary, dataset: str) -> Result:
    """Make a row of the results on ``dataset``; '' for those over all datasets of the category.

    Metrics of plug-ins are left out: they are kept with the submission's document and shown as custom.
    """
    fields = summary.model_dump(exclude={"score", "datasets", "metrics"})
    score = summary.score
    return Result(
        **fields,
        dataset=dataset,
        datasets=list(summary.datasets),
        score=score.value,
        low=score.low,
        high=score.high,
        metrics={key: entry.model_dump() for key, entry in sorted(summary.metrics.items()) if key in METRICS},
    )
