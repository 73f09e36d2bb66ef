"""Scores kept answers: what a task keeps of each clip on both sides. Asks nobody, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from codec_superb.applications.aec.scoring import rank_pairs
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoredPair, ScoringInput
from codec_superb.applications.probe import SIDES, Probe, Side
from codec_superb.applications.task_definitions.definition import TaskDefinition, TaskFile
from codec_superb.applications.understanding.cases import (
    Case,
    Compared,
    Counts,
    Kept,
    Labelled,
    LeftOut,
    NGrams,
    Result,
    Scored,
    Verdict,
)
from codec_superb.applications.understanding.judging.measure import judged
from codec_superb.applications.understanding.measures.table import MEASURES, KindName, Measure, check_models, made
from codec_superb.applications.understanding.processes.table import processed

Numbers = Mapping[str, float]
"""By field."""


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Measure the answers of both sides of each clip.

    A clip without a usable label is left out; one without an answer on either side has failed and is in no mean.
    """
    definition = definition_of(probe)
    cases = {item.clip: case_of(definition.task, item) for item in question.items}
    row = MEASURES[definition.task.measure.name]
    if row.judged:
        measures = dict.fromkeys(SIDES, judged(definition.task.measure, question.judgements))
    else:
        measures = _made(definition, [case for case in cases.values() if case is not None], question)
    found: dict[str, tuple[Result, Result]] = {}
    outcomes = {
        item.clip: _outcome(
            definition, measures, cases[item.clip], item.clip, question, found, tried=is_tried(definition.task, item)
        )
        for item in question.items
    }
    settings = {"task_sha256": definition.sha256, "measure": f"{row.name} {row.version}", **check_models(row.name)}
    return ProbeScores(outcomes, _ranks(question.items, found), settings)


def _made(definition: TaskDefinition, cases: Sequence[Case], question: ScoringInput) -> dict[Side, Measure]:
    """Return the measure of each side; it is one unless it looks at all answers of a side."""
    task = definition.task
    if not MEASURES[task.measure.name].of_corpus:
        return dict.fromkeys(SIDES, made(task.measure, cases))
    # answers of clips that failed on either side compare with nothing
    whole = [case for case in cases if case.clip not in question.failures]
    found: dict[Side, Measure] = {}
    for side in SIDES:
        given = getattr(question, side)
        answers = {case.clip: processed(str(given.get(case.clip, "")), task.after) for case in whole}
        found[side] = made(task.measure, whole, answers)
    return found


def is_tried(task: TaskFile, item: Item) -> bool:
    """Whether a clip is of the part that the task is tried on."""
    return all(item.label(name) in values for name, values in task.only.items())


def case_of(task: TaskFile, item: Item) -> Case | None:
    """Return what an answer is compared with; None where the clip has no label, or one that is no class."""
    label = item.label(task.label)
    truth = (label,) if isinstance(label, str) else tuple(label or ())
    if task.classes:
        known = {name.casefold(): name for name in task.classes}
        truth = tuple(known[name.casefold()] for name in truth if name.casefold() in known)
    truth = tuple(answer for answer in truth if answer.strip())
    options = task.classes or item.choices
    return Case(item.clip, item.language, truth, options, item.question or "", dict(item.extra)) if truth else None


def definition_of(probe: Probe) -> TaskDefinition:
    """Return the definition behind a probe of a task."""
    assert probe.definition is not None
    return probe.definition


def _outcome(
    definition: TaskDefinition,
    measures: Mapping[Side, Measure],
    case: Case | None,
    clip: str,
    question: ScoringInput,
    found: dict[str, tuple[Result, Result]],
    *,
    tried: bool,
) -> ClipOutcome:
    """Return what becomes of a clip, and put the results of one that is measured into ``found``."""
    if case is None or not tried:
        lacking = f"no label {definition.task.label}, or none of the task's classes"
        return ClipOutcome("left_out", "not of the part of the dataset that the task is tried on" if case else lacking)
    if clip in question.failures:
        return ClipOutcome("failed", question.failures[clip])
    kind = MEASURES[definition.task.measure.name].kind
    results: list[Result] = []
    for side in SIDES:
        answer = getattr(question, side).get(clip)
        if not isinstance(answer, str):
            return ClipOutcome("failed", f"expected an answer to the {side}, got none")
        try:
            result = measures[side](processed(answer, definition.task.after), case)
        except PredictionFailed as error:
            return ClipOutcome("failed", f"{side}: {error}")
        if isinstance(result, LeftOut):
            return ClipOutcome("left_out", result.reason)
        results.append(result)
    found[clip] = results[0], results[1]
    return ClipOutcome("ok", "", *numbers(kind, found[clip], case))


def _ranks(items: Sequence[Item], found: Mapping[str, tuple[Result, Result]]) -> tuple[ScoredPair, ...]:
    """Return the rank of each clip within its labels, where the measure keeps labels: 1 for given, 0 for not."""
    results = {
        clip: (one, other)
        for clip, (one, other) in found.items()
        if isinstance(one, Labelled) and isinstance(other, Labelled)
    }
    ranked = [item for item in items if item.clip in results]
    owned = [tuple(sorted(results[item.clip][0].right)) for item in ranked]
    names = sorted({name for own in owned for name in own})
    place = {name: at for at, name in enumerate(names)}
    sides = []
    for side in range(len(SIDES)):
        scores = np.zeros((len(ranked), len(names)))
        for row, item in enumerate(ranked):
            scores[row, [place[name] for name in results[item.clip][side].given if name in place]] = 1.0
        sides.append(scores)
    return rank_pairs(ranked, owned, sides, names)


def numbers(  # noqa: PLR0911 -- one for each kind
    kind: KindName, results: tuple[Result, Result], case: Case
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the shared numbers, and those of both sides, that are kept of two results of one measure."""
    match results:
        case (Verdict() as one, Verdict() as other):
            same = one.read is not None and one.read == other.read
            sides = [{"correct": float(of.correct), "parsed": float(of.read is not None)} for of in (one, other)]
            return {"options": float(len(case.options))}, {**sides[0], "same": 1.0}, {**sides[1], "same": float(same)}
        case (Labelled() as one, Labelled() as other):
            shared = {"labels": float(len(one.right)), "classes": float(one.classes)}
            return shared, _labels(one), _labels(other)
        case (Counts() as one, Counts() as other):
            shared = {"words": float(one.words), "characters": float(one.characters)}
            return shared, _edits(one), _edits(other)
        case (NGrams() as one, NGrams() as other):
            return {}, _ngrams(one), _ngrams(other)
        case (Kept() as one, Kept() as other):
            return {"asked": float(one.asked)}, _kept(one), _kept(other)
        case (Compared() | Scored() | None as one, Compared() | Scored() | None as other) if kind in {"pair", "scores"}:
            return {}, _compared(kind, one), _compared(kind, other)
        case (float() | int() | None as one, float() | int() | None as other):
            return {}, _value(kind, one), _value(kind, other)
    raise TypeError(f"expected two results of a measure of the kind {kind}, got {results}")


def _labels(of: Labelled) -> Numbers:
    return {
        "given": float(len(of.given)), "hits": float(len(of.given & of.right)), "parsed": float(bool(of.given))
    }  # fmt: skip


def _edits(of: Counts) -> Numbers:
    return {name: float(getattr(of, name)) for name in ("substitutions", "deletions", "insertions")}


def _ngrams(of: NGrams) -> Numbers:
    counts = {f"match{n}": float(of.matches[n - 1]) for n in range(1, 5)}
    counts |= {f"total{n}": float(of.totals[n - 1]) for n in range(1, 5)}
    return {**counts, "length": float(of.length), "reference_length": float(of.reference_length)}


def _kept(of: Kept) -> Numbers:
    return {"strict": float(of.strict), "loose": float(of.loose)}


def _compared(kind: KindName, of: Compared | Scored | None) -> Numbers:
    """Return the numbers of a comparison; one that cannot be read is lost, and not counted as judged by place."""
    said = Scored(0.0, True, 0.0, 0.0) if of is None else of
    ratings = {"rating": said.rating, "other": said.other} if kind == "scores" and isinstance(said, Scored) else {}
    return {"win": said.win, "steady": float(said.steady), "parsed": float(of is not None), **ratings}


def _value(kind: KindName, of: float | None) -> Numbers:
    return {kind: float(of or 0.0), "parsed": float(of is not None)}
