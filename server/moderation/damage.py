"""Doubts about scores under a condition that are better than those without: damage leaves no more of a sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from codec_superb.server.database.models import COUNTED, NAMED, STANDING, Codec, Submission
from codec_superb.web.text import number

BETTER_DAMAGED = 0.02
"""Lead of a score under a condition over that of the same codec without it, on the same clips, that needs a look."""
Scores = Mapping[tuple[str, str, str], float]
"""By dataset, category and the state of the clips."""


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
    if submission.custom or _heard_damaged(submission):
        return
    own = _scores(submission)
    if submission.condition:
        for clean in _standing(session, submission, COUNTED)[:1]:
            for where, before, after in _better(_scores(clean), own):
                yield Damage(where, _told(after, submission.condition, before))
        return
    found: dict[str, Submission] = {}
    for other in _standing(session, submission, NAMED & (Submission.condition != "")):
        found.setdefault(other.condition, other)
    for condition, other in found.items():
        holds = other.status == "verified" or other.account_id == submission.account_id
        for where, before, after in () if _heard_damaged(other) else _better(own, _scores(other)):
            yield Damage(where, _told(after, condition, before), holds)


def _standing(session: Session, submission: Submission, which: ColumnElement[bool]) -> list[Submission]:
    """Load the public submissions of the same codec, those that stand first."""
    found = select(Submission).join(Codec, Submission.codec_id == Codec.id)
    found = found.where(which, Submission.codec_id == submission.codec_id, Submission.id != submission.id)
    return [*session.scalars(found.order_by(*(each.desc() for each in STANDING)))]


def _heard_damaged(submission: Submission) -> bool:
    """Whether it is compared with the damaged sound, which may be easier to keep."""
    return bool(submission.condition) and submission.document["condition"]["reference"] == "input"


def is_beside_undamaged(submission: Submission) -> bool:
    """Whether it was made under a condition and is compared with the clean sound, beside which no codec is exact."""
    return bool(submission.condition) and not _heard_damaged(submission)


def _scores(submission: Submission) -> Scores:
    states = {part["name"]: f"{part['manifest_hash']} {part['selected']}" for part in submission.document["datasets"]}
    return {
        (row.dataset, row.category, states[row.dataset]): row.score
        for row in submission.results
        if row.dataset in states and row.score is not None
    }


def _better(clean: Scores, damaged: Scores) -> Iterator[tuple[str, float, float]]:
    """Yield place, score without and score with the condition where that is better on the same clips."""
    for key, after in damaged.items():
        before = clean.get(key)
        if before is not None and after > before + BETTER_DAMAGED:
            yield f"{key[0]}, {key[1]}", before, after


def _told(after: float, condition: str, before: float) -> str:
    told = f"scores {number(after, 3)} under {condition}, {number(before, 3)} without"
    return f"{told}: damage leaves no more of a sound"
