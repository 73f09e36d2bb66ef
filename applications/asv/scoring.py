"""Scores trials and similarities of speakers by the cosine of embeddings, in pure functions.

Two protocols stand side by side in every pair: ``resynthesis`` compares two resyntheses (the paper's), ``enrol_clean``
the reference of the enrolment with the resynthesis of the test; ``reference`` is the ceiling of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.asv.trials import SEED, build_trials, check, sha256_of_trials
from codec_superb.applications.errors import MissingLabels
from codec_superb.applications.interface import ClipOutcome, Prediction, ProbeScores, ScoredPair, ScoringInput, Setting
from codec_superb.applications.metric_functions import FALSE_ALARM_COST, MISS_COST, TARGET_PRIOR
from codec_superb.applications.probe import Probe

Floats = NDArray[np.float64]
Trials = Sequence[tuple[bool, str, str]]
_CHUNK = 8192
"""Trials compared at once."""


def score(probe: Probe, question: ScoringInput) -> ProbeScores:  # noqa: ARG001 -- every scorer is given its probe
    """Score all trials whose clips have an embedding on both sides.

    Raises MissingLabels, with :func:`trials.check`'s reason, where no trial of one speaker or none of two exists.
    """
    if reason := check(question.items, question.trials):
        raise MissingLabels(f"{question.dataset}: {reason}")
    clips = {item.clip for item in question.items}
    listed: Trials = question.trials or build_trials(question.items)
    trials = [trial for trial in listed if trial[1] in clips and trial[2] in clips]
    tried = {clip for _, enrolment, test in trials for clip in (enrolment, test)}
    failures = {clip: reason for clip in sorted(tried) if (reason := _failure(question, clip))}
    usable = [trial for trial in trials if trial[1] not in failures and trial[2] not in failures]
    count = Counter(clip for _, enrolment, test in usable for clip in (enrolment, test))
    labelled = {item.clip: bool(item.speaker) for item in question.items}
    outcomes = {clip: _outcome(clip in tried, labelled[clip], failures.get(clip, ""), count[clip]) for clip in labelled}
    return ProbeScores(outcomes, _pairs(question, usable), _settings(question, listed, trials))


def _outcome(tried: bool, labelled: bool, failure: str, trials: int) -> ClipOutcome:
    if not tried:
        return ClipOutcome("left_out", "no trial has this clip" if labelled else "no speaker is known")
    return ClipOutcome("failed", failure) if failure else ClipOutcome("ok", shared={"trials": float(trials)})


def _pairs(question: ScoringInput, trials: Trials) -> tuple[ScoredPair, ...]:
    clips = sorted({clip for _, enrolment, test in trials for clip in (enrolment, test)})
    row = {clip: position for position, clip in enumerate(clips)}
    left = np.array([row[enrolment] for _, enrolment, _ in trials], np.int64)
    right = np.array([row[test] for _, _, test in trials], np.int64)
    reference = _unit_vectors(question.reference, clips)
    resynthesis = _unit_vectors(question.resynthesis, clips)
    columns = (
        _cosines(reference, reference, left, right),
        _cosines(resynthesis, resynthesis, left, right),
        _cosines(reference, resynthesis, left, right),
    )
    return tuple(
        ScoredPair(enrolment, test, bool(same), *scores)
        for (same, enrolment, test), *scores in zip(trials, *(column.tolist() for column in columns), strict=True)
    )


def _settings(question: ScoringInput, listed: Trials, trials: Trials) -> dict[str, Setting]:
    same = sum(trial[0] for trial in trials)
    built: dict[str, Setting] = {"trials": "built", "trials_seed": SEED}
    source: dict[str, Setting] = {"trials": question.trial_list or "published"} if question.trials else built
    return source | {
        "trials_sha256": sha256_of_trials(listed),
        "trials_listed": len(listed),
        "trials_same_speaker": same,
        "trials_different_speakers": len(trials) - same,
        "trial_score": "cosine",
        "dcf_target_prior": TARGET_PRIOR,
        "dcf_miss_cost": MISS_COST,
        "dcf_false_alarm_cost": FALSE_ALARM_COST,
    }


def score_similarity(probe: Probe, question: ScoringInput) -> ProbeScores:  # noqa: ARG001 -- every scorer is given its probe
    """Score speaker similarity: cosine between reference and its own resynthesis; 1 on the reference side."""
    clips = [item.clip for item in question.items]
    failures = {clip: reason for clip in clips if (reason := _failure(question, clip))}
    scored = [clip for clip in clips if clip not in failures]
    rows = np.arange(len(scored))
    reference, resynthesis = (_unit_vectors(side, scored) for side in (question.reference, question.resynthesis))
    similarity = dict(zip(scored, _cosines(reference, resynthesis, rows, rows).tolist(), strict=True))
    outcomes = {
        clip: ClipOutcome("failed", failures[clip])
        if clip in failures
        else ClipOutcome("ok", reference={"similarity": 1.0}, resynthesis={"similarity": similarity[clip]})
        for clip in clips
    }
    return ProbeScores(outcomes, settings={"similarity": "cosine"})


def _failure(question: ScoringInput, clip: str) -> str:
    """Return why a clip has no embedding on one side, '' where it has both."""
    if clip in question.failures:
        return question.failures[clip] or "no reason was given"
    for name, side in (("reference", question.reference), ("resynthesis", question.resynthesis)):
        if clip not in side:
            return f"no embedding of the {name}"
        vector = side[clip]
        if isinstance(vector, str) or vector.ndim != 1:
            return f"expected an embedding of the {name}, got {type(vector).__name__}"
        if not np.isfinite(vector).all() or not vector.any():
            return f"the embedding of the {name} has no direction: it is zero or not finite"
    return ""


def _unit_vectors(side: Mapping[str, Prediction], clips: Sequence[str]) -> Floats:
    """Return the embeddings of clips as rows of length 1, shape ``(clips, dimensions)``."""
    if not clips:
        return np.zeros((0, 1))
    vectors = np.array([side[clip] for clip in clips], np.float64)
    scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True)  # so that no square is too large or too small
    unit: Floats = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit


def _cosines(left: Floats, right: Floats, left_rows: NDArray[np.int64], right_rows: NDArray[np.int64]) -> Floats:
    """Return the cosine of each pair of rows, within [-1, 1]."""
    cosines = np.empty(len(left_rows))
    for start in range(0, len(cosines), _CHUNK):
        part = slice(start, start + _CHUNK)
        cosines[part] = np.einsum("ij,ij->i", left[left_rows[part]], right[right_rows[part]])
    # Rounding may leave the range by a unit in the last place.
    return np.clip(cosines, -1.0, 1.0)
