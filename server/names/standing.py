"""Whose self-reported results of a name that nobody owns stand for it: who came first, until one is run again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from codec_superb.server.database.models import Submission

MOST_ORDERED = 20
"""Accounts behind each other whose order is kept, and the place of whatever comes after them."""


class Claim(NamedTuple):
    """What an account has public of a name under one condition: the submission that stands for it."""

    id: str
    account: int | str
    """An anonymous upload is its own: nobody knows of whom."""
    since: int
    """The account's first version: who sends again goes behind nobody."""
    complete: bool
    """No clip lacks, of a clean one: under a condition clips fail, and all count alike."""
    whole: bool
    """Complete; under a condition one for which all clips were asked."""
    clips: int
    ok: int
    damaged: bool = False
    """Made under a condition."""
    accepted: bool = False
    """A moderator let one of them pass."""
    verified: bool = False


def order(claims: Sequence[Claim]) -> list[Claim]:
    """Order claims on one name under one condition: the one that stands, then the one that would without it."""
    found: list[Claim] = []
    left = sorted(claims, key=lambda claim: claim.since)
    while left and len(found) < MOST_ORDERED:
        found.append(reduce(_first_of, left))
        left = [each for each in left if each.account != found[-1].account]
    return found


def _first_of(early: Claim, late: Claim) -> Claim:
    """Return the one that stands of two: the early one, unless a moderator chose the other, or it gives way."""
    if (early.complete or early.verified) and not late.complete:
        return early
    return late if late.accepted or late.account == early.account or _gives_way(early, late) else early


def _gives_way(early: Claim, late: Claim) -> bool:
    """Whether partial results are no claim: to whole ones of as many clips or more, not of a smaller dataset."""
    as_many = late.ok >= early.ok and (not early.damaged or late.clips >= early.clips)
    return as_many and late.whole and not early.whole


def claims(session: Session, submission: Submission, *, of_now: bool = True) -> list[Claim]:
    """List the public claims on the name of a submission under its condition; its own too unless ``of_now``.

    Beside self-reported ones the verified partial one that stands, which not every complete one is in front of.
    """
    public = (Submission.status == "self-reported") | (Submission.id == ("" if of_now else submission.id))
    if not submission.condition:
        in_part = and_(Submission.status == "verified", ~Submission.complete, Submission.behind.is_(False))
        public |= in_part
    rows = session.execute(
        select(
            Submission.id, Submission.version, Submission.account_id, Submission.status, Submission.complete,
            Submission.clips, Submission.ok, Submission.decided_by,
        )
        .where(Submission.codec_id == submission.codec_id, Submission.condition == submission.condition)
        .where(public, Submission.custom.is_(False))
        .order_by(Submission.version)
    ).all()  # fmt: skip
    senders: dict[int | str, list[Any]] = {}
    found = []
    for row in rows:
        if row.status == "verified":
            found.append(Claim(row.id, row.account_id or row.id, row.version, complete=False, whole=False,
                               clips=row.clips, ok=row.ok, accepted=True, verified=True))  # fmt: skip
        else:
            senders.setdefault(row.account_id or row.id, []).append(row)
    damaged = submission.condition != ""
    best = {
        account: max(own, key=lambda row: (row.complete and not damaged, row.version))
        for account, own in senders.items()
    }
    whole = _asked_for_all(session, [row.id for row in best.values()]) if damaged else {}
    found += [
        Claim(
            row.id, account, senders[account][0].version, complete=row.complete and not damaged,
            whole=whole.get(row.id, row.complete), clips=row.clips, ok=row.ok, damaged=damaged,
            accepted=any(each.status == "self-reported" and each.decided_by is not None for each in senders[account]),
        )
        for account, row in best.items()
    ]  # fmt: skip
    return found


def _asked_for_all(session: Session, identities: Collection[str]) -> Mapping[str, bool]:
    """Tell which submissions have all clips of their datasets, whatever failed of them."""
    found = select(Submission.id, Submission.document["datasets"].label("datasets"))
    return {
        row.id: all(one["selected"] == one["clips"] for one in row.datasets)
        for row in session.execute(found.where(Submission.id.in_(identities)))
    }


def goes_first(session: Session, submission: Submission) -> bool:
    """Whether a submission would be the first of what nobody ran again."""
    return order(claims(session, submission, of_now=False))[0].account == (submission.account_id or submission.id)


def place_reported(session: Session, submission: Submission) -> Mapping[str, int]:
    """Return the places of the self-reported results of a submission's name under its condition, 0 for the first."""
    reported = select(Submission.id).where(
        Submission.codec_id == submission.codec_id, Submission.condition == submission.condition,
        Submission.status == "self-reported", Submission.custom.is_(False),
    )  # fmt: skip
    places = dict.fromkeys(session.scalars(reported), MOST_ORDERED)
    ordered = order(claims(session, submission)) if places else ()
    return places | {claim.id: place for place, claim in enumerate(ordered) if claim.id in places}


def is_behind_another(submission: Submission) -> bool:
    """Whether a public submission that nobody ran again is shown behind the results of another account."""
    placed = submission.behind and submission.place < MOST_ORDERED
    return placed and submission.status == "self-reported" and submission.codec.owner_id is None
