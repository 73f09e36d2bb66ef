"""Whose self-reported results of a name that nobody owns stand for it: who came first, until one is run again.

The order is kept, not computed anew from what is public: who gave way does not come back by what he sends later, and
who takes back what he has replaced loses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from math import inf
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.server.database.models import Submission

MOST_ORDERED = 20
"""Accounts behind each other whose order is kept, and the place of whatever comes after them."""

IN_FRONT = -1
"""Place in front of verified results, of which clips were not asked for."""


class Claim(NamedTuple):
    """What an account has public of a name under one condition: the submission that stands for it."""

    id: str
    account: int | str
    """An anonymous upload is its own: nobody knows of whom."""
    place: float
    """The account's until now: who sends again, or takes back what it replaced, keeps it."""
    version: int
    complete: bool
    """No clip lacks, of a clean one: under a condition clips fail, and all count alike."""
    whole: bool
    """Complete; under a condition one for which all clips were asked."""
    clips: int
    ok: int
    damaged: bool = False
    """Made under a condition."""
    verified: bool = False


def order(claims: Sequence[Claim]) -> list[Claim]:
    """Order claims on one name under one condition: the one that stands, then the one that would without it."""
    found: list[Claim] = []
    # of equal places, which older programs gave, the newest stood
    left = sorted(claims, key=lambda claim: (claim.place, -claim.version))
    while left and len(found) < MOST_ORDERED:
        found.append(reduce(_first_of, left))
        left = [each for each in left if each.account != found[-1].account]
    return found


def _first_of(early: Claim, late: Claim) -> Claim:
    """Return the one that stands of two: the early one, unless it gives way."""
    if (early.complete and not late.complete) or (early.verified and not late.whole):
        return early
    if late.verified:  # in part
        return early if early.whole else late
    return late if late.account == early.account or _gives_way(early, late) else early


def _gives_way(early: Claim, late: Claim) -> bool:
    """Whether partial results are no claim: to whole ones of as many clips or more, not of a smaller dataset."""
    as_many = late.ok >= early.ok and (not early.damaged or late.clips >= early.clips)
    return as_many and late.whole and not early.whole


def claims(session: Session, submission: Submission, *, was: int | None, new: bool, accepted: bool) -> list[Claim]:
    """List the claims on the name of a submission under its condition, of public results and of its own if ``new``.

    ``was`` is the place that it had as a self-reported one, if it was one; ``accepted`` by a moderator, it goes to the
    front. Beside them the verified partial one that stands, which not every complete one is in front of.
    """
    rows = session.execute(
        select(
            Submission.id, Submission.version, Submission.account_id, Submission.complete, Submission.clips,
            Submission.ok, Submission.place,
        )
        .where(Submission.codec_id == submission.codec_id, Submission.condition == submission.condition)
        .where((Submission.status == "self-reported") | (Submission.id == (submission.id if new else "")))
        .where(Submission.custom.is_(False))
    ).all()  # fmt: skip
    senders: dict[int | str, list[Any]] = {}
    for row in rows:
        senders.setdefault(row.account_id or row.id, []).append(row)
    # the submission's own is of what it was before: of a verified one, or of none
    places = {
        account: min((float(row.place) for row in own if row.id != submission.id), default=inf)
        for account, own in senders.items()
    }
    damaged = submission.condition != ""
    best = [max(own, key=lambda row: (row.complete and not damaged, row.version)) for own in senders.values()]
    if (own := submission.account_id or submission.id) in places:
        # not a newer version that nobody looked at
        to_front = accepted and submission.id in {row.id for row in best}
        places[own] = -2.0 if to_front else min(places[own], inf if was is None else was)
    whole = _asked_for_all(session, [row.id for row in best]) if damaged else {}
    found = [
        Claim(
            row.id, account, places[account], row.version, complete=row.complete and not damaged,
            whole=whole.get(row.id, row.complete), clips=row.clips, ok=row.ok, damaged=damaged,
        )
        for account, row in zip(senders, best, strict=True)
    ]  # fmt: skip
    return [*found, *_verified_in_part(session, submission)]


def _verified_in_part(session: Session, submission: Submission) -> list[Claim]:
    """Find the verified partial result that stands: behind the self-reported one in its front, if there is one."""
    rows = session.execute(
        select(Submission.id, Submission.version, Submission.account_id, Submission.clips, Submission.ok)
        .where(Submission.codec_id == submission.codec_id, Submission.condition == submission.condition)
        .where(Submission.status == "verified", ~Submission.complete, Submission.behind.is_(False))
        .where(Submission.custom.is_(False))
    ).all()  # fmt: skip
    damaged = submission.condition != ""
    whole = _asked_for_all(session, [row.id for row in rows]) if damaged else {}
    return [
        Claim(row.id, row.account_id or row.id, 0.5, row.version, complete=False, whole=False, clips=row.clips,
              ok=row.ok, damaged=damaged, verified=True)
        for row in rows
        if not whole.get(row.id)
    ]  # fmt: skip


def _asked_for_all(session: Session, identities: Collection[str]) -> Mapping[str, bool]:
    """Tell which submissions have all clips of their datasets, whatever failed of them."""
    found = select(Submission.id, Submission.document["datasets"].label("datasets"))
    return {
        row.id: all(one["selected"] == one["clips"] for one in row.datasets)
        for row in session.execute(found.where(Submission.id.in_(identities)))
    }


def goes_first(session: Session, submission: Submission) -> bool:
    """Whether a new submission would be the first of what nobody ran again."""
    first = order(claims(session, submission, was=None, new=True, accepted=False))[0]
    return first.account == (submission.account_id or submission.id)


def place_reported(session: Session, submission: Submission, *, was: int | None, accepted: bool) -> Mapping[str, int]:
    """Return the places of the self-reported results of a submission's name under its condition, 0 for the first.

    See :func:`claims`. Under a condition :data:`IN_FRONT` for one in front of verified partial results.
    """
    reported = select(Submission.id).where(
        Submission.codec_id == submission.codec_id, Submission.condition == submission.condition,
        Submission.status == "self-reported", Submission.custom.is_(False),
    )  # fmt: skip
    places = dict.fromkeys(session.scalars(reported), MOST_ORDERED)
    if not places:
        return {}
    there = claims(session, submission, was=was, new=False, accepted=accepted)
    ordered = order(there)
    places |= {claim.id: place for place, claim in enumerate(ordered) if claim.id in places}
    if submission.condition and not ordered[0].verified and any(claim.verified for claim in there):
        places[ordered[0].id] = IN_FRONT
    return places


def is_behind_another(submission: Submission) -> bool:
    """Whether a public submission that nobody ran again is shown behind the results of another account."""
    placed = submission.behind and submission.place < MOST_ORDERED
    return placed and submission.status == "self-reported" and submission.codec.owner_id is None
