"""Convert results under conditions to the rows of the report, with the clean ones of the same codecs beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from codec_superb.metrics.results import Estimate
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.web.conditions import WORD_ERRORS
from codec_superb.web.rows import ApplicationRow, CodecResult, ConditionInfo, ConditionResult


def info_of(condition: Condition | None) -> ConditionInfo:
    """Describe a condition as the page takes it."""
    if condition is None:
        return ConditionInfo()
    kind = condition.kind
    return ConditionInfo(
        name=condition.name, kind=kind.key, label=kind.label, place=kind.place, axis=kind.axis,
        strength=condition.strength, grows=kind.grows, definition=kind.definition, reference=condition.reference,
    )  # fmt: skip


def condition_results(
    results: Sequence[Results],
    rows_of: Callable[[Results], Iterable[CodecResult]],
    applications_of: Callable[[Results], Sequence[ApplicationRow]],
) -> list[ConditionResult]:
    """Return the results of the codecs that were run under some condition."""
    concerned = {entry.card.name for entry in results if entry.condition is not None}
    return [
        ConditionResult(row, info_of(entry.condition), _word_errors(row, applications_of(entry)))
        for entry in results
        if entry.card.name in concerned
        for row in rows_of(entry)
    ]


def _word_errors(row: CodecResult, applications: Sequence[ApplicationRow]) -> Estimate | None:
    """Return the word error rate; None where there is none, or several of different datasets or models."""
    found = [one for one in applications if one.numbers.figure == WORD_ERRORS]
    return found[0].value if row.summary.category == "speech" and len(found) == 1 else None
