"""Score the predictions on one run: values of clips, pairs of clips, and the settings of the probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from codec_superb.applications.catalogue import score
from codec_superb.applications.interface import ClipOutcome, Item, Model, ScoredPair, ScoringInput
from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import Probe
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.choice import TrialList
from codec_superb.pipeline.probing.predictions import PredictionSet
from codec_superb.pipeline.tables.rows import PairRow, ProbeValue

T = TypeVar("T")


class ProbeResult(NamedTuple):
    """The result of one probe on one run."""

    info: ProbeInfo
    values: dict[str, ProbeValue]
    """By clip id; clips of other categories have none."""
    pairs: list[PairRow]


class SidePredictions(NamedTuple):
    """Predictions on both sides of a run."""

    reference: PredictionSet
    resynthesis: PredictionSet

    def failures(self) -> dict[str, str]:
        """Return the reasons of clips without a prediction; a failure of the resynthesis takes precedence."""
        reference = {clip: f"reference: {reason}" for clip, reason in self.reference.failures.items()}
        return reference | self.resynthesis.failures


def score_run(
    row: Probe,
    dataset: str,
    items: Sequence[Item],
    sides: SidePredictions,
    model: Model,
    trials: TrialList,
    classes: Sequence[str],
) -> ProbeResult:
    """Score one probe on one run; ``items`` are the run's clips of all categories, sorted."""
    mine = [item for item in items if item.category in row.categories]
    ids = {item.clip for item in mine}
    question = ScoringInput(
        dataset=dataset,
        items=mine,
        reference=_of(ids, sides.reference.predictions),
        resynthesis=_of(ids, sides.resynthesis.predictions),
        failures=_of(ids, sides.failures()),
        trials=trials.pairs if row.pairs == "trials" else (),
        trial_list=trials.name if row.pairs == "trials" else "",
        classes=classes,
    )
    scored = score(row.key, question)
    if scored.outcomes.keys() != ids:
        odd = sorted(scored.outcomes.keys() ^ ids)[:3]
        raise PipelineError(f"{row.key}: expected an outcome for each of {len(ids)} clips; wrong for {', '.join(odd)}")
    info = ProbeInfo(
        probe=row.key,
        version=row.version,
        backend=model.name,
        model_sha256=model.sha256,
        random=model.random,
        settings={**model.settings, **scored.settings},
    )
    values = {clip: _value(outcome) for clip, outcome in scored.outcomes.items()}
    return ProbeResult(info, values, [_pair(dataset, row.key, pair) for pair in scored.pairs])


def _of(ids: set[str], found: Mapping[str, T]) -> dict[str, T]:
    return {clip: value for clip, value in found.items() if clip in ids}


def _value(outcome: ClipOutcome) -> ProbeValue:
    return ProbeValue(
        status=outcome.status,
        reason=outcome.reason,
        shared=dict(outcome.shared),
        reference=dict(outcome.reference),
        resynthesis=dict(outcome.resynthesis),
    )


def _pair(dataset: str, key: str, pair: ScoredPair) -> PairRow:
    return PairRow(dataset=dataset, probe=key, **pair._asdict())
