"""Which submissions the worker runs again by itself: the newest of each account, until one of its account differs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, delete, or_, select
from sqlalchemy.orm import Session, aliased

from codec_superb.server.database.models import PUBLIC, Account, Attestation, AuditEntry, Submission, VerificationJob
from codec_superb.server.moderation.service import decide
from codec_superb.server.names.claims import SETTLED_BY_RUN, is_doubted, waits_for_run
from codec_superb.server.verification.jobs import BY_HAND, enqueue


def enqueue_unverified(session: Session) -> int:
    """Queue what is self-reported on datasets of the benchmark and was not queued since the last decision about it.

    Return how many. A verified one that a moderator held and accepted has lost its badge, and gets it back by a run.

    Of an account, codec and condition the newest: each run draws clips anew, and who sends a file in fifty versions
    would have fifty draws. Also what waits for what others found alone (:data:`SETTLED_BY_RUN`). Nothing of an account
    about whom the last decision was against it: a moderator is to look first. Nor where the last run of a version ended
    with nothing said, nor of an account of which a clip fails here that has numbers in the file: that depends on the
    clips that are drawn, and another draw might miss those that are false.
    """
    _drop_jobs(session, ~_newest() | _nothing_said())
    doubted: dict[int | None, bool] = {}
    found = 0
    for row in _candidates(session):
        if row.account_id not in doubted:
            account = None if row.account_id is None else session.get_one(Account, row.account_id)
            doubted[row.account_id] = account is not None and is_doubted(session, account)
        if not doubted[row.account_id] and (row.status != "held" or waits_for_run(row.warnings)):
            enqueue(session, row.id, "verify", clips=None)
            found += 1
    return found


def after_difference(session: Session, submission: Submission, *, actor: str) -> None:
    """Hold the account's other self-reported versions of a codec of which one differs, and queue nothing more of it."""
    if submission.account_id is None:
        return
    others = select(Submission.id).where(
        Submission.account_id == submission.account_id, Submission.codec_id == submission.codec_id,
        Submission.id != submission.id, Submission.status == "self-reported", Submission.custom.is_(False),
    )  # fmt: skip
    reason = f"version {submission.version} of the same account, run again, differs"
    for identity in session.scalars(others.order_by(Submission.version)).all():
        decide(session, identity, "hold", reason, actor=actor)
    _drop_jobs(session, Submission.account_id == submission.account_id)


def differed_since(session: Session, submission: Submission, asked: datetime) -> bool:
    """Whether a version of the same account and codec was run again and differs, told after ``asked``."""
    if submission.account_id is None:
        return False
    found = select(Attestation.id).join(Submission, Submission.id == Attestation.submission_id)
    of_it = Submission.account_id == submission.account_id, Submission.codec_id == submission.codec_id
    return bool(session.scalar(select(found.where(*of_it, ~Attestation.agrees, Attestation.added > asked).exists())))


def _candidates(session: Session) -> Iterator[Any]:
    known = select(VerificationJob.id).where(
        VerificationJob.submission_id == Submission.id, VerificationJob.kind == "verify",
        Submission.decided.is_(None) | (VerificationJob.created >= Submission.decided),
    )  # fmt: skip
    waits = (
        (Submission.status == "held")
        & Submission.decided_by.is_(None)
        & or_(*(cast(Submission.warnings, Text).like(f'%"{kind}"%') for kind in SETTLED_BY_RUN))
    )
    wanted = (
        select(Submission.id, Submission.account_id, Submission.status, Submission.warnings)
        .where((Submission.status == "self-reported") | waits, Submission.custom.is_(False), ~known.exists())
        .where(_newest(), ~_differed(), ~_nothing_said())
        .order_by(Submission.received, Submission.id)
    )
    yield from session.execute(wanted).all()


def _newest() -> ColumnElement[bool]:
    """Whether nothing newer of the same account, codec and condition is public."""
    later = aliased(Submission)
    newer = select(later.id).where(
        later.account_id == Submission.account_id, later.codec_id == Submission.codec_id,
        later.condition == Submission.condition, later.version > Submission.version,
        later.status.in_(PUBLIC), later.custom.is_(False),
    )  # fmt: skip
    return ~newer.exists()


def _differed() -> ColumnElement[bool]:
    """Whether it, or a later version of the same account, codec and condition, was run again and differs."""
    same = aliased(Submission)
    attested = select(Attestation.id).join(same, same.id == Attestation.submission_id)
    return attested.where(
        ~Attestation.agrees, same.account_id == Submission.account_id, same.codec_id == Submission.codec_id,
        same.condition == Submission.condition, same.version >= Submission.version,
    ).exists()  # fmt: skip


def _nothing_said() -> ColumnElement[bool]:
    """Whether a version was drawn from in vain, and none agreed that was queued since.

    Of the same account, codec and condition; where a clip fails here, of the account: under conditions of strengths
    that hardly differ, and under many names, the same false clips would have as many draws.
    """
    same, later = aliased(Submission), aliased(Submission)
    drawn, agreed = aliased(VerificationJob), aliased(VerificationJob)

    def alike(one: type[Submission], other: type[Submission]) -> ColumnElement[bool]:
        of_it = (one.codec_id == other.codec_id) & (one.condition == other.condition)
        return (one.account_id == other.account_id) & ((drawn.outcome == "fails here") | of_it)

    since = select(agreed.id).where(
        agreed.submission_id == later.id, agreed.kind == "verify", agreed.outcome == "agrees",
        agreed.created > drawn.finished, alike(later, same),
    )  # fmt: skip
    in_vain = select(drawn.id).where(
        drawn.submission_id == same.id, drawn.kind == "verify", drawn.outcome.in_(("nothing said", "fails here")),
        ~since.exists(), alike(same, Submission),
    )  # fmt: skip
    return in_vain.exists()


def _drop_jobs(session: Session, which: ColumnElement[bool]) -> None:
    """Take out of the queue what nobody has queued by hand; the submission is queued again where it may be."""
    by_hand = select(AuditEntry.subject).where(AuditEntry.action == BY_HAND)
    of = select(Submission.id).where(which, Submission.id.not_in(by_hand))
    jobs = delete(VerificationJob).where(
        VerificationJob.kind == "verify", VerificationJob.state == "queued", VerificationJob.submission_id.in_(of)
    )
    session.execute(jobs, execution_options={"synchronize_session": False})
