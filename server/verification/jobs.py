"""The queue of ``codec-superb verify-worker``: rows of ``verification_jobs``, taken by one worker at a time.

A worker says now and then that it lives. A job whose worker is silent goes back to the queue, and a third silence ends
it: what kills a worker three times would kill it for ever. A claim is numbered by ``attempts``, so that a worker that
was given up and wakes again can store nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import CursorResult, Update, func, select, update
from sqlalchemy.orm import Session

from codec_superb.server.database.models import Submission, VerificationJob, now
from codec_superb.server.errors import Conflict, NotFound
from codec_superb.server.people.audit import record

Kind = Literal["verify", "private"]
Outcome = Literal["agrees", "differs", "nothing said", "fails here", "cannot run", "measured"]

SILENCE = timedelta(minutes=2)
"""A worker that has not been heard of for so long is given up."""
ATTEMPTS = 3
"""Claims of a job before it is given up."""
PAUSES = (timedelta(minutes=1), timedelta(minutes=5))
"""After the first and the second failed attempt: what is full or away for a moment must not cost all three."""
SHARED = timedelta(days=1)
"""Time within which accounts have equal shares of the workers, counted in jobs."""
BY_HAND = "submission.queued"
"""Action in the audit log of who queues a submission by hand: its job stays in the queue."""
MESSAGE_LIMIT = 20_000
"""Characters of a message that are kept."""


def enqueue(
    session: Session, submission_id: str, kind: Kind, *, clips: int | None, private_dataset_id: int | None = None
) -> VerificationJob:
    """Queue a job, and draw the nonce that decides which clips are run; one that waits or runs already is returned.

    ``clips`` is the number of clips of each dataset, 0 for all, None for as many as catch a cheat.
    ``private_dataset_id`` belongs to the kind ``private``. The caller has looked whether there is such a submission.
    """
    waiting = session.scalars(
        select(VerificationJob)
        .where(
            VerificationJob.submission_id == submission_id,
            VerificationJob.kind == kind,
            VerificationJob.private_dataset_id == private_dataset_id,
            VerificationJob.state.in_(("queued", "running")),
        )
        .order_by(VerificationJob.id)
        .limit(1)
    ).one_or_none()
    if waiting is not None:
        return waiting
    job = VerificationJob(
        submission_id=submission_id, kind=kind, private_dataset_id=private_dataset_id, nonce=secrets.token_hex(32),
        clips=clips,
    )  # fmt: skip
    session.add(job)
    session.flush()
    return job


def enqueue_by_hand(session: Session, submission_id: str, clips: int | None, *, actor: str) -> VerificationJob:
    """Queue a job ``verify`` for a maintainer. Raises NotFound, and Conflict for what is not to be verified."""
    submission = session.get(Submission, submission_id)
    if submission is None:
        raise NotFound(f"no submission has the id {submission_id!r}")
    if submission.status not in ("held", "self-reported", "verified"):
        raise Conflict(f"expected a submission that is held or public, got {submission_id}: {submission.status}")
    record(session, actor, BY_HAND, submission_id, clips=clips)
    return enqueue(session, submission_id, "verify", clips=clips)


def claim(session: Session, worker: str, *, kinds: Collection[str]) -> VerificationJob | None:
    """Give ``worker`` a job that waits, of one of the ``kinds``; None where nothing waits.

    The oldest of the account of which the fewest were taken within :data:`SHARED`: who sends much waits for their own.
    In a writing transaction. Jobs of silent workers are put back first, or given up after the last attempt.
    """
    _take_from_the_silent(session)
    at = _clock(session)
    sender = func.coalesce(Submission.account_id, 0)  # without a token all are one
    taken_of = (
        select(sender.label("sender"), func.count().label("jobs"))
        .join(VerificationJob, VerificationJob.submission_id == Submission.id)
        .where(VerificationJob.state != "queued", VerificationJob.heartbeat > at - SHARED)
        .group_by(sender)
        .subquery()
    )
    waiting = (
        select(VerificationJob.id)
        .join(Submission, Submission.id == VerificationJob.submission_id)
        .outerjoin(taken_of, taken_of.c.sender == sender)
        .where(
            VerificationJob.state == "queued",
            VerificationJob.kind.in_(tuple(kinds)),
            VerificationJob.heartbeat.is_(None) | (VerificationJob.heartbeat <= at),
        )
        .order_by(func.coalesce(taken_of.c.jobs, 0), VerificationJob.id)
        .limit(1)
    )
    # of two workers at once the second waits for the row's lock, changes nothing and looks again
    while (found := session.scalars(waiting).one_or_none()) is not None:
        taken = update(VerificationJob).where(VerificationJob.id == found, VerificationJob.state == "queued")
        attempts = VerificationJob.attempts + 1
        if _changed(session, taken.values(state="running", worker=worker[:200], heartbeat=at, attempts=attempts)):
            return session.get_one(VerificationJob, found, populate_existing=True)
    return None


def beat(session: Session, job: VerificationJob, worker: str) -> bool:
    """Say that the worker lives; False where the job is no longer its own, and its work is for nothing."""
    return _changed(session, _own(job, worker).values(heartbeat=_clock(session)))


def finish(session: Session, job: VerificationJob, worker: str, outcome: Outcome, message: str) -> bool:
    """End a job with its outcome; False where it is no longer the worker's own: store nothing then.

    To be called in the transaction that stores what the outcome changes, before it.
    """
    done = {"state": "done", "finished": _clock(session), "outcome": outcome, "message": _kept(message)}
    return _changed(session, _own(job, worker).values(done))


def fail(session: Session, job: VerificationJob, worker: str, message: str) -> bool:
    """Put back a job that went wrong, or give it up after the last attempt; False where another has it."""
    return _changed(session, _own(job, worker).values(_after_failure(job.attempts, message, _clock(session))))


def give_back(
    session: Session, job: VerificationJob, worker: str, *, pause: timedelta | None = None, message: str = ""
) -> bool:
    """Put back a job that was not tried to its end: this counts as no attempt.

    ``pause``: how long it waits then, ``message`` for what; None where its worker is told to stop.
    """
    until = None if pause is None else _clock(session) + pause
    told = {"message": _kept(message)} if message else {}
    back = {"state": "queued", "worker": "", "heartbeat": until, "attempts": job.attempts - 1, **told}
    return _changed(session, _own(job, worker).values(back))


def all_jobs(session: Session, *, limit: int) -> Sequence[VerificationJob]:
    """List jobs, the newest first."""
    return session.scalars(select(VerificationJob).order_by(VerificationJob.id.desc()).limit(limit)).all()


def left_over(session: Session) -> tuple[int, int]:
    """Count the jobs that a worker has claimed, and those that wait for their next attempt."""
    states = select(VerificationJob.state, func.count()).group_by(VerificationJob.state)
    found = {row.state: int(row[1]) for row in session.execute(states)}
    return found.get("running", 0), found.get("queued", 0)


def not_ended(session: Session, jobs: Collection[int]) -> set[int]:
    """Return those of the ids that are of jobs which wait or run."""
    live = VerificationJob.id.in_(jobs), VerificationJob.state.in_(("queued", "running"))
    return set(session.scalars(select(VerificationJob.id).where(*live)))


def _take_from_the_silent(session: Session) -> None:
    at = _clock(session)
    silent = (VerificationJob.state == "running") & (VerificationJob.heartbeat < at - SILENCE)
    gone = "the worker went silent"
    last = VerificationJob.attempts >= ATTEMPTS
    _changed(session, update(VerificationJob).where(silent, last).values(_after_failure(ATTEMPTS, gone, at)))
    _changed(session, update(VerificationJob).where(silent).values(_after_failure(0, gone, at)))


def _clock(session: Session) -> datetime:
    """Return the time of the one clock of all workers: the database's, which with SQLite is this machine's."""
    if session.get_bind().dialect.name == "sqlite":
        return now()
    at: datetime = session.scalars(select(func.clock_timestamp())).one()
    return at


def _after_failure(attempts: int, message: str, at: datetime) -> dict[str, Any]:
    text = _kept(message)
    if attempts >= ATTEMPTS:
        return {"state": "failed", "finished": at, "message": f"given up after {ATTEMPTS} attempts: {text}"}
    until = at + PAUSES[attempts - 1] if attempts else None  # a silent worker has paused already
    return {"state": "queued", "worker": "", "heartbeat": until, "message": text}


def _kept(message: str) -> str:
    """Cut a message; an error of a codec may hold the character 0, which PostgreSQL refuses."""
    return message[:MESSAGE_LIMIT].replace("\0", "\ufffd")


def _own(job: VerificationJob, worker: str) -> Update:
    return update(VerificationJob).where(
        VerificationJob.id == job.id,
        VerificationJob.state == "running",
        VerificationJob.worker == worker[:200],
        VerificationJob.attempts == job.attempts,
    )


def _changed(session: Session, statement: Update) -> bool:
    result = session.execute(statement, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    return result.rowcount > 0
