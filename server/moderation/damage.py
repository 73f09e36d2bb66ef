"""Doubts about scores under a condition that are better than those without: damage leaves no more of a sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from codec_superb.pipeline.conditions.record import Condition
from codec_superb.server.database.models import COUNTED, NAMED, STANDING, Codec, Result, Submission
from codec_superb.web.text import number

BETTER_DAMAGED = 0.02
"""Lead of a score under a condition over that of the same codec without it, on the same clips, that needs a look."""


class Scored(NamedTuple):
    """The score of a category of a dataset, and on which of its clips."""

    score: float
    state: str
    """Hash of the dataset's clip list."""
    selected: int
    ok: int


Place = tuple[str, str]
"""A dataset and a category."""


class Damage(NamedTuple):
    """Scores with and without a condition that cannot both be true."""

    where: str
    text: str
    holds: bool = True


def damage_doubts(session: Session, submission: Submission) -> Iterator[Damage]:
    """Compare a submission with the public ones of its codec on the other side, whichever came first.

    What another account reported under a name that is nobody's makes a remark of the clean result: its word holds
    nobody.
    """
    if submission.custom or _may_be_better(submission):
        return
    others = _standing(session, submission, COUNTED if submission.condition else NAMED & (Submission.condition != ""))
    if not others:
        return
    own, sizes = _scores(submission), _sizes(session, submission)
    if submission.condition:
        for where, before, after in _better(_scores(others[0]), own, sizes):
            yield Damage(where, _told(after, submission.condition, before))
        return
    found: dict[str, Submission] = {}
    for other in others:
        found.setdefault(other.condition, other)
    for condition, other in found.items():
        holds = other.status == "verified" or other.account_id == submission.account_id
        for where, before, after in () if _may_be_better(other) else _better(own, _scores(other), sizes):
            yield Damage(where, _told(after, condition, before), holds)


def _standing(session: Session, submission: Submission, which: ColumnElement[bool]) -> list[Submission]:
    """Load the public submissions of the same codec, those that stand first."""
    found = select(Submission).join(Codec, Submission.codec_id == Codec.id)
    found = found.where(which, Submission.codec_id == submission.codec_id, Submission.id != submission.id)
    return [*session.scalars(found.order_by(*(each.desc() for each in STANDING)))]


def _may_be_better(submission: Submission) -> bool:
    """Whether it may have a better score than without its condition: of the damaged sound, or of a louder one."""
    if not submission.condition:
        return False
    return _heard_damaged(submission) or not Condition.model_validate(submission.document["condition"]).kind.damages


def _heard_damaged(submission: Submission) -> bool:
    """Whether it is compared with the damaged sound, which may be easier to keep."""
    return bool(submission.condition) and submission.document["condition"]["reference"] == "input"


def is_beside_undamaged(submission: Submission) -> bool:
    """Whether it was made under a condition and is compared with the clean sound, beside which no codec is exact."""
    return bool(submission.condition) and not _heard_damaged(submission)


def _scores(submission: Submission) -> Mapping[Place, Scored]:
    parts = {part["name"]: part for part in submission.document["datasets"]}
    return {
        (row.dataset, row.category): Scored(row.score, part["manifest_hash"], part["selected"], row.ok)
        for row in submission.results
        if row.score is not None and (part := parts.get(row.dataset)) is not None
    }


def _sizes(session: Session, submission: Submission) -> Mapping[Place, int]:
    """Return the most clips of each category that public results, or these, have."""
    own = {(row.dataset, row.category): row.ok for row in submission.results}
    most = (
        select(Result.dataset, Result.category, func.max(Result.ok))
        .join(Submission, Result.submission_id == Submission.id)
        .where(NAMED, Result.dataset.in_(sorted({dataset for dataset, _ in own if dataset})))
        .group_by(Result.dataset, Result.category)
    )
    found = {(dataset, category): size for dataset, category, size in session.execute(most)}
    return {place: max(ok, found.get(place, 0)) for place, ok in own.items()}


def _better(
    clean: Mapping[Place, Scored], damaged: Mapping[Place, Scored], sizes: Mapping[Place, int]
) -> Iterator[tuple[str, float, float]]:
    """Yield place, score without and score with the condition where that is better than the clips allow.

    Scores are from 0 to 1, so what leaves out a share of the clips moves their mean by no more than that share.
    """
    for place, after in damaged.items():
        before = clean.get(place)
        if before is None or after.state != before.state:
            continue
        size = sizes.get(place, 0)
        same = after.selected == before.selected or not size
        share = 0.0 if same else sum(max(0.0, 1 - each.ok / size) for each in (before, after))
        if after.score > before.score + BETTER_DAMAGED + share:
            yield ", ".join(place), before.score, after.score


def _told(after: float, condition: str, before: float) -> str:
    told = f"scores {number(after, 3)} under {condition}, {number(before, 3)} without"
    return f"{told}: damage leaves no more of a sound"
