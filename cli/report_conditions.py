"""Convert results under conditions to the rows of the report, with the clean ones of the same codecs beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from codec_superb.pipeline.comparison.results import Results
from codec_superb.web.conditions import word_errors
from codec_superb.web.rows import ApplicationRow, CodecResult, ConditionInfo, ConditionResult


def condition_results(
    results: Sequence[Results],
    rows_of: Callable[[Results], Iterable[CodecResult]],
    applications_of: Callable[[Results], Sequence[ApplicationRow]],
) -> list[ConditionResult]:
    """Return the results of codecs that were run under some condition, clean ones where they are on the same clips."""
    concerned: dict[str, list[Results]] = {}
    for entry in results:
        if entry.condition is not None:
            concerned.setdefault(entry.card.name, []).append(entry)
    return [
        ConditionResult(row, _info(entry), word_errors(row, applications_of(entry)), clips=str(_clips(entry)))
        for entry in results
        if any(other is entry or _clips(other) == _clips(entry) for other in concerned.get(entry.card.name, ()))
        for row in rows_of(entry)
    ]


def _info(entry: Results) -> ConditionInfo:
    return ConditionInfo() if entry.condition is None else ConditionInfo(**entry.condition.facts())


def _clips(entry: Results) -> list[tuple[object, ...]]:
    """Name the clips of a result: datasets, their state and which of their clips were asked for."""
    return [(of.info.name, of.info.manifest_hash, of.info.selected, of.info.only) for of in entry.datasets]
