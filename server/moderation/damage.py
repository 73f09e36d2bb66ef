"""Doubts about scores under a condition that are better than those without: damage leaves no more of a sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from codec_superb.pipeline.conditions.record import Condition
from codec_superb.server.database.models import COUNTED, NAMED, STANDING, Codec, Submission
from codec_superb.server.moderation.shared_clips import SharedClips, SharedScore
from codec_superb.web.text import number

BETTER_DAMAGED = 0.02
"""Lead of a score under a condition over that of the same codec without it, on the same clips, that needs a look."""
BY_ONE_CLIP = 0.5
"""What a clip may bring by chance, shared among all that are compared. Of 37,620 draws of 4 to 21 clips from real runs
of five codecs under eight mild conditions one was further ahead: Codec 2 on music."""

MOST_SENDERS = 30
"""Clean results that are compared, the newest beside verified ones and the account's own."""


class Scored(NamedTuple):
    """The score of a category of a dataset, and on which of its clips."""

    score: float
    state: str
    """Hash of the dataset's clip list."""
    complete: bool
    """Whether it is over all of them."""


Place = tuple[str, str]
"""A dataset and a category."""


class Damage(NamedTuple):
    """Scores with and without a condition that cannot both be true."""

    where: str
    text: str
    holds: bool = True


def damage_doubts(session: Session, submission: Submission) -> Iterator[Damage]:
    """Compare a submission with the public ones of its codec on the other side, whichever came first.

    What other accounts reported under a name that is nobody's makes a remark: their word holds nobody.
    """
    if submission.custom or _may_be_better(submission):
        return
    others = _standing(session, submission, COUNTED if submission.condition else NAMED & (Submission.condition != ""))
    clips = SharedClips(session)
    if submission.condition:
        yield from _beside_clean(submission, others, clips)
        return
    found: dict[str, Submission] = {}
    for other in others:
        found.setdefault(other.condition, other)
    for other in found.values():
        for where, text in () if _may_be_better(other) else _compared(submission, other, clips):
            if text:
                yield Damage(where, text, _is_known(other, submission))


def _is_known(other: Submission, submission: Submission) -> bool:
    """Whether a result holds others of its codec: a verified one, and what the same account sent."""
    return other.status == "verified" or other.account_id == submission.account_id


def _beside_clean(damaged: Submission, clean: Sequence[Submission], clips: SharedClips) -> Iterator[Damage]:
    """Compare with the clean result of each sender, the one that stands first."""
    senders: dict[int | str | None, Submission] = {}
    for other in clean:
        senders.setdefault("" if other.status == "verified" else other.account_id, other)
    verdicts: dict[str, list[tuple[Submission, str]]] = {}
    known_first = sorted(senders.values(), key=lambda other: not _is_known(other, damaged))
    for other in known_first[:MOST_SENDERS]:
        for where, text in _compared(other, damaged, clips):
            verdicts.setdefault(where, []).append((other, text))
    for where, votes in verdicts.items():
        told = [(_is_known(other, damaged), text) for other, text in votes if text]
        if told:
            known, text = max(told, key=itemgetter(0))
            yield Damage(where, text, known)


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


def noise_gain(submission: Submission) -> float:
    """Return how many times louder than the sound the noise of its condition is, at least 1.

    Magnitudes of a louder sound are that much further apart, whatever they are compared with.
    """
    if not submission.condition:
        return 1.0
    condition = Condition.model_validate(submission.document["condition"])
    return max(1.0, 10 ** (-condition.strength / 20)) if condition.kind.key.startswith("noise:") else 1.0


def _scores(submission: Submission) -> Mapping[Place, Scored]:
    parts = {part["name"]: part for part in submission.document["datasets"]}
    return {
        (row.dataset, row.category): Scored(row.score, part["manifest_hash"], row.complete)
        for row in submission.results
        if row.score is not None and (part := parts.get(row.dataset)) is not None
    }


def _compared(clean: Submission, damaged: Submission, clips: SharedClips) -> Iterator[tuple[str, str]]:
    """Yield each place that both have, with a sentence where the damaged one is better on the clips of both, else ''.

    Of too few clips, and of too many to be read, nothing.
    """
    before, after = _scores(clean), _scores(damaged)
    read: dict[str, Mapping[str, SharedScore]] = {}
    for (dataset, category), two in after.items():
        one = before.get((dataset, category))
        if one is None:
            continue
        pair, allowed, on = (one.score, two.score), BETTER_DAMAGED, ""
        if not (one.complete and two.complete and one.state == two.state):
            if dataset not in read:
                read[dataset] = clips.scores(clean.id, damaged.id, dataset)
            if (found := read[dataset].get(category)) is None:
                continue
            pair, on = (found.first, found.second), f" on {found.clips} clips that both have"
            allowed = max(allowed, BY_ONE_CLIP / found.clips)
        told = f"scores {number(pair[1], 3)} under {damaged.condition}, {number(pair[0], 3)} without{on}"
        better = pair[1] > pair[0] + allowed
        yield f"{dataset}, {category}", f"{told}: damage leaves no more of a sound" if better else ""
