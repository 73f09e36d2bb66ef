"""A test of a judge: answers written and labelled for this project, and how far the judge agrees with the labels."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

import numpy as np
import yaml

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.task_definitions.definition import Use
from codec_superb.applications.understanding.cases import Case, Compared, Verdict
from codec_superb.applications.understanding.judging.measure import Judgements, judged
from codec_superb.applications.understanding.judging.roles import Request, requests_of

QA, PAIR = Use(name="judge-reference-qa"), Use(name="judge-pair")
RESAMPLES = 2000


class Labelled(NamedTuple):
    """One answer with its label."""

    case: Case
    kind: str
    text: str
    right: bool


class Agreement(NamedTuple):
    """What a judge made of the labelled answers."""

    answers: int
    unread: int
    """Judgements that could not be read, or were refused; they agree with no label."""
    accuracy: float
    """Percent that agree with the label."""
    kappa: float
    """Cohen's, over the answers that were read; NaN where judge and labels know one word only."""
    kappa_low: float
    kappa_high: float
    """95 % percentile interval over resampled answers."""
    by_kind: Mapping[str, float]
    """Accuracy in percent."""
    order_pct: float
    """Percent of pairs of a right and a wrong answer that are judged by place; NaN where none could be read."""


def labelled() -> list[Labelled]:
    """Return the answers."""
    file = resources.files("codec_superb.applications.understanding.judging") / "labelled.yaml"
    found = []
    for number, of in enumerate(yaml.safe_load(file.read_text("utf-8"))):
        case = Case(str(number), "en", (of["reference"],), question=of["question"])
        found += [Labelled(case, answer["kind"], answer["text"], answer["right"]) for answer in of["answers"]]
    return found


def _pairs() -> list[Labelled]:
    return [of for of in labelled() if of.kind == "wrong"]


def trial_requests() -> list[Request]:
    """Return all that a judge is asked."""
    asked = [request for of in labelled() for request in requests_of(QA, of.text, of.case)]
    return asked + [request for of in _pairs() for request in requests_of(PAIR, of.text, of.case)]


def agreement(judgements: Judgements) -> Agreement:
    """Compare replies with the labels."""
    answers = labelled()
    said = [_said(judgements, of) for of in answers]
    right = np.array([word == ("yes" if of.right else "no") for word, of in zip(said, answers, strict=True)])
    kinds = sorted({of.kind for of in answers})
    by_kind = {kind: 100 * float(right[[of.kind == kind for of in answers]].mean()) for kind in kinds}
    read = [(word == "yes", of.right) for word, of in zip(said, answers, strict=True) if word]
    table = np.array(read, dtype=float).reshape(-1, 2)
    drawn = np.random.default_rng(0).integers(0, max(len(table), 1), (RESAMPLES, len(table)))
    kappas = np.array([kappa(table[rows]) for rows in drawn])
    known = kappas[np.isfinite(kappas)]
    low, high = np.percentile(known, [2.5, 97.5]) if known.size else (np.nan, np.nan)
    unread = len(answers) - len(read)
    return Agreement(
        len(answers), unread, 100 * float(right.mean()), kappa(table), float(low), float(high), by_kind,
        _order(judgements),
    )  # fmt: skip


def kappa(table: np.ndarray) -> float:
    """Cohen's kappa of two columns of 0 and 1, shape ``(answers, 2)``; NaN where chance alone agrees throughout."""
    if not len(table):
        return float("nan")
    same = float((table[:, 0] == table[:, 1]).mean())
    one, other = table.mean(axis=0)
    chance = float(one * other + (1 - one) * (1 - other))
    return (same - chance) / (1 - chance) if chance < 1 else float("nan")


def _said(judgements: Judgements, of: Labelled) -> str | None:
    try:
        result = judged(QA, judgements)(of.text, of.case)
    except PredictionFailed:
        return None
    assert isinstance(result, Verdict)
    return result.read


def _order(judgements: Judgements) -> float:
    steady = []
    for of in _pairs():
        try:
            result = judged(PAIR, judgements)(of.text, of.case)
        except PredictionFailed:
            continue
        if isinstance(result, Compared):
            steady.append(result.steady)
    return 100 * (1 - float(np.mean(steady))) if steady else float("nan")
