"""Score the predictions on one run: values of clips, pairs of clips, and the settings of the probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from codec_superb.applications.catalogue import score
from codec_superb.applications.interface import (
    ClipOutcome,
    Item,
    Model,
    Reply,
    ScoredPair,
    ScoringInput,
    Setting,
    TextVectors,
)
from codec_superb.applications.probe import SIDES, Probe, Side
from codec_superb.applications.results import ProbeInfo, RemoteAnswers
from codec_superb.applications.text.nearest import Search
from codec_superb.data_manifests.collections import Collection
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.choice import TrialList
from codec_superb.pipeline.probing.judging import Judge
from codec_superb.pipeline.probing.predictions import PredictionSet
from codec_superb.pipeline.tables.rows import CountsRow, KeptRow, PairRow, ProbeValue, counts_row
from codec_superb.pipeline.tables.vectors import frames_row

T = TypeVar("T")


class ProbeResult(NamedTuple):
    """The result of one probe on one run."""

    info: ProbeInfo
    values: dict[str, ProbeValue]
    """By clip id; clips of other categories have none."""
    pairs: list[KeptRow]
    """Pairs, or frames of clips."""


class SidePredictions(NamedTuple):
    """Predictions on both sides of a run."""

    reference: PredictionSet
    resynthesis: PredictionSet

    def failures(self) -> dict[str, str]:
        """Return the reasons of clips without a prediction; a failure of the resynthesis takes precedence."""
        reference = {clip: f"reference: {reason}" for clip, reason in self.reference.failures.items()}
        return reference | self.resynthesis.failures


class Answers(NamedTuple):
    """What the models gave for one run, and the collections that it is compared with."""

    sides: SidePredictions
    heard: Mapping[Side, Mapping[str, str]] = MappingProxyType({})
    """Transcripts by the first stage of a chain, by side and clip id."""
    vectors: TextVectors | None = None
    collections: Mapping[str, Collection] = MappingProxyType({})
    judge: Judge | None = None
    """Who judges the answers of judged tasks."""


def score_run(
    row: Probe,
    dataset: str,
    items: Sequence[Item],
    answers: Answers,
    model: Model,
    trials: TrialList,
    classes: Sequence[str],
    entries: Sequence[int] = (),
) -> ProbeResult:
    """Score one probe on one run; ``items`` are the run's clips of all categories, sorted."""
    sides = answers.sides
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
        entries=entries,
        collections={name: answers.collections[name] for name in row.collections_of(answers.collections)},
        vectors=answers.vectors,
        heard={side: _of(ids, heard) for side, heard in answers.heard.items()},
    )
    judging = answers.judge.settings(row) if answers.judge else {}
    if answers.judge:
        question = replace(question, judgements=answers.judge.judgements(row, question))
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
        settings={**model.settings, **collection_settings(row, answers.collections), **judging, **scored.settings},
        definition=row.definition,
        remote=remote_answers(question) if model.remote else None,
    )
    values = {clip: _value(outcome) for clip, outcome in scored.outcomes.items()}
    kept: list[KeptRow] = list((_counts if row.pairs == "counts" else _pairs)(dataset, row.key, scored.pairs))
    kept += [frames_row(dataset, row.key, of.clip, of.frames, (of.reference, of.resynthesis)) for of in scored.frames]
    return ProbeResult(info, values, kept)


def remote_answers(question: ScoringInput) -> RemoteAnswers:
    """Return what is known of a server's answers of one run, from the facts that are journalled beside them."""
    facts = {
        (side, clip): answer.facts
        for side in SIDES
        for clip, answer in getattr(question, side).items()
        if isinstance(answer, Reply)
    }
    prints = {key: str(of.get("fingerprint", "")) for key, of in facts.items()}
    return RemoteAnswers(
        answers=len(facts),
        cost=round(sum(float(of.get("cost", 0.0)) for of in facts.values()), 9),
        currency=next((str(of["currency"]) for of in facts.values() if "currency" in of), ""),
        fingerprints=tuple(sorted(set(prints.values()) - {""})),
        drifted=any(prints.get((SIDES[0], clip), of) != of for (side, clip), of in prints.items() if side == SIDES[1]),
    )


def collection_settings(row: Probe, collections: Mapping[str, Collection]) -> dict[str, str]:
    """Return the settings that tell on which collections a result of the probe rests."""
    return {f"collection_{name}_sha256": collections[name].sha256 for name in row.collections_of(collections)}


def search_settings(row: Probe, search: Search) -> dict[str, Setting]:
    """Return the settings that tell how a probe that looks among all rows of a collection finds them."""
    return search.settings() if row.group == "retrieval" else {}


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


def _pairs(dataset: str, key: str, pairs: Sequence[ScoredPair]) -> Iterator[PairRow]:
    return (PairRow(dataset=dataset, probe=key, **pair._asdict()) for pair in pairs)


def _counts(dataset: str, key: str, pairs: Sequence[ScoredPair]) -> Iterator[CountsRow]:
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    for clip, its in groupby(pairs, key=lambda pair: pair.left):
        of = list(its)
        names = tuple(pair.right for pair in of)
        totals, values = ([getattr(pair, side) for pair in of] for side in SIDES)
        yield counts_row(dataset, key, clip, known.setdefault(names, names), totals, values)
