"""The queue of uploads on PostgreSQL: taken by one process at a time, by another once that one is silent.

A job is its process's own as long as that process has a heartbeat (``operations/heartbeat.py``). A claim is numbered
by ``attempts``, so that a process that was given up and wakes again can store nothing.
"""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any, NamedTuple

import anyio
from anyio.to_thread import run_sync
from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Delete,
    Update,
    case,
    delete,
    exists,
    extract,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session, aliased

from codec_superb.server import errors
from codec_superb.server.database.faults import DATABASE_ERRORS, UNKNOWN, words_of
from codec_superb.server.database.models import CheckJob, RunningProcess
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Unavailable
from codec_superb.server.http.turns import waiting_time
from codec_superb.server.ingest.checker import (
    LONG_CHECKS,
    LONG_OF_ONE,
    MAX_WAITING_UPLOADS,
    SLOT_TIMEOUT_S,
    busy,
    longest_check,
)
from codec_superb.server.operations.heartbeat import ALIVE
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault import vault_of

SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.03, 0.3
"""Pauses between two looks at a job of the queue: a check takes a tenth of a second, or a minute."""
SHORTEST_CHECK_S = 0.5
"""Seconds for which each check counts at least: beside its own time a process reads, stores and writes down."""
ATTEMPTS = 3
"""Processes that a check may take with it before it is given up: what ends three of them would end all."""
SHARED = timedelta(minutes=10)
"""Time within which senders have equal shares of the checks."""
_KEPT = timedelta(hours=1)
"""Time for which the outcome of a job is kept; nobody waits for it longer."""
_GIVEN_UP = {
    "status": int(HTTPStatus.SERVICE_UNAVAILABLE), "problems": [], "headers": {"Retry-After": "60"},
    "detail": f"the check of this file ended {ATTEMPTS} processes that tried; tell the maintainers of this leaderboard",
}  # fmt: skip
_TO_DO = select(select(CheckJob.id).where(CheckJob.state.in_(("queued", "running"))).exists())


def enqueue(
    session: Session, identity: str, *, sender: str, account_id: int | None, sha256: str,
    token_id: int | None = None, files: str = "",
) -> None:  # fmt: skip
    """Queue a file received under the name ``identity``, of an account, or none, in the network ``sender``."""
    session.execute(delete(CheckJob).where(CheckJob.state == "done", CheckJob.created < func.now() - _KEPT))
    session.add(
        CheckJob(
            id=identity, sender=sender, account_id=account_id, token_id=token_id, file_sha256=sha256,
            files=files, created=func.now(), outcome={},
        )
    )  # fmt: skip


def claim(session: Session, worker: str, files: str = "", *, long: bool = False) -> CheckJob | None:
    """Give the process ``worker``, which sees ``files``, one to check; None where none waits.

    ``long`` for one in parts, or a large one, which are not among the others. The oldest of the sender whose files,
    with those of its network, took the least time within :data:`SHARED`, each :data:`SHORTEST_CHECK_S` at least. These
    leave one of several places to others, and a sender's wait while as many large ones as one may have are not through.
    What silent processes had is put back first, or given up after the last attempt.
    """
    if not session.scalar(_TO_DO):  # as twice a second in most of the life of a service
        return None
    _take_from_the_silent(session)
    other = aliased(CheckJob)
    beside = or_(other.sender == CheckJob.sender, other.account_id == CheckJob.account_id)
    number = select(func.count())
    running = number.where(beside, other.state == "running", _is_long(other) == long).scalar_subquery()
    own = _of_one(other, CheckJob.sender, CheckJob.account_id)
    large = number.where(own, other.state != "done", _is_long(other)).scalar_subquery()
    now = case((other.state == "running", extract("epoch", func.now() - other.taken)), else_=0.0)
    spent = func.greatest(func.coalesce(other.seconds, 0.0) + now, SHORTEST_CHECK_S)
    took = (
        select(func.coalesce(func.sum(spent), 0.0)).where(beside, other.taken > func.now() - SHARED).scalar_subquery()
    )
    most = max(1, places(session, long=long) - 1)
    waiting = (
        select(CheckJob)
        .where(CheckJob.state == "queued", CheckJob.files.in_(("", files)), running < most, _is_long(CheckJob) == long)
        .where(CheckJob.worker != worker)  # see pass_on
        .where(or_(literal(long), large < LONG_OF_ONE))
        .order_by(took, CheckJob.created, CheckJob.id)
        .limit(1)
        # of two processes at once each takes another
        .with_for_update(skip_locked=True)
    )
    job = session.scalars(waiting).one_or_none()
    if job is not None:
        job.state, job.worker, job.attempts = "running", worker, job.attempts + 1
        job.taken = func.now()
        session.flush()
        session.refresh(job)
    return job


def _is_long(job: type[CheckJob]) -> ColumnElement[bool]:
    return job.parts > 0


def _of_one(job: type[CheckJob], sender: Any, account_id: Any) -> ColumnElement[bool]:
    """Whether the account sent it, or, without any, the network ``sender``: values, or columns of another job."""
    same: ColumnElement[bool] = job.sender == sender
    return job.account_id.is_not_distinct_from(account_id) & (job.account_id.is_not(None) | same)


def places(session: Session, *, long: bool = False) -> int:
    """Count the uploads that all living processes together check at the same time, of those in parts or of others."""
    if long:
        checking = select(func.count()).select_from(RunningProcess).where(ALIVE, RunningProcess.checks > 0)
        return LONG_CHECKS * (session.scalar(checking) or 0)
    return session.scalar(select(func.coalesce(func.sum(RunningProcess.checks), 0)).where(ALIVE)) or 0


def has_room(session: Session, sender: str, account_id: int | None) -> bool:
    """Whether one more file of an account, or of a network ``sender`` without a token, may wait.

    Others find room whoever sends: a quarter is the most for one sender, half for all accounts of a network, and for
    all that have no token.
    """
    most = MAX_WAITING_UPLOADS * places(session)
    waiting, own, near, unknown = session.execute(
        select(
            func.count(),
            func.count().filter(_of_one(CheckJob, sender, account_id)),
            func.count().filter(CheckJob.sender == sender),
            func.count().filter(CheckJob.account_id.is_(None)),
        ).where(CheckJob.state == "queued")
    ).one()
    others = near if account_id is not None else max(near, unknown)
    return bool(waiting < most and own < most // 4 and others < most // 2)


def accept(session: Session, job: CheckJob, submission_id: str, *, new: bool, seconds: float) -> bool:
    """End a job whose file was stored, in the transaction that stores it; False where it is another's by now."""
    return _end(session, job, {"submission": submission_id, "new": new}, seconds)


def refuse(session: Session, job: CheckJob, error: errors.ServerError, seconds: float) -> bool:
    """End a job whose file was not stored; False where it is another's by now."""
    outcome = {
        "status": int(error.status), "detail": error.detail, "problems": error.problems, "headers": error.headers,
    }  # fmt: skip
    return _end(session, job, outcome, seconds)


def put_back(session: Session, job: CheckJob) -> None:
    """Let others take a job that was not tried to its end: this counts as no attempt."""
    _changed(session, _own(job).values(state="queued", worker="", attempts=job.attempts - 1))


def leave_to_long(session: Session, job: CheckJob, parts: int, seconds: float) -> bool:
    """Put a job back whose file names so many parts, for whoever checks those: this counts as no attempt.

    ``seconds`` are those that the look at it took.

    False where its sender has as many of those as one may have.
    """
    own = (_of_one(CheckJob, job.sender, job.account_id), CheckJob.state != "done", _is_long(CheckJob))
    if (session.scalar(select(func.count()).select_from(CheckJob).where(*own)) or 0) >= LONG_OF_ONE:
        return False
    again = {"state": "queued", "worker": "", "attempts": job.attempts - 1, "parts": parts}
    return _changed(session, _own(job).values(again | {"seconds": seconds}))


def pass_on(session: Session, job: CheckJob) -> bool:
    """Leave a job that this process cannot do, as where its disk is full, to another one that lives.

    False where there is none, or it was the last attempt: then the job is to be refused.
    """
    others = (ALIVE, RunningProcess.checks > 0, RunningProcess.files == job.files, RunningProcess.id != job.worker)
    if job.attempts >= ATTEMPTS or not session.scalar(select(func.count()).where(*others)):
        return False
    return _changed(session, _own(job).values(state="queued"))  # and stays marked as this process's


def ended(session: Session, identity: str) -> CheckJob | None:
    """Return a job that has ended; None before. Raises Unavailable for one that is gone."""
    job = session.get(CheckJob, identity, populate_existing=True)
    if job is None:
        raise errors.Unavailable("the upload was taken out of the queue; send the file again")
    return job if job.state == "done" else None


def withdraw(session: Session, identity: str) -> bool:
    """Take a job back that nobody has taken; False where somebody has."""
    return _changed(session, delete(CheckJob).where(CheckJob.id == identity, CheckJob.state == "queued"))


def submission_of(job: CheckJob) -> tuple[str, bool]:
    """Return the id of the submission that a job became, and whether it is new. Raises the error of a refused one."""
    found = job.outcome
    if "submission" in found:
        return str(found["submission"]), bool(found["new"])
    kind = _KINDS.get(int(found["status"]), errors.InternalError)
    raise kind(found["detail"], problems=found["problems"], headers=dict(found["headers"]))


_KINDS: dict[int, type[errors.ServerError]] = {
    kind.status: kind
    for kind in (errors.BadRequest, errors.Unauthenticated, errors.Forbidden, errors.Conflict, errors.TooLarge,
                 errors.Refused, errors.TooManyRequests, errors.Unavailable)
}  # fmt: skip


def _take_from_the_silent(session: Session) -> None:
    lives = select(RunningProcess.id).where(RunningProcess.id == CheckJob.worker, ALIVE)
    silent = select(CheckJob.id, CheckJob.worker).where(CheckJob.state == "running", ~lives.exists())
    for identity, worker in session.execute(silent).all():
        # by its worker: where another took it meanwhile, PostgreSQL looks at the row anew and at no other table
        its = (CheckJob.id == identity, CheckJob.worker == worker, CheckJob.state == "running")
        given_up = update(CheckJob).where(*its, CheckJob.attempts >= ATTEMPTS)
        _changed(session, given_up.values(state="done", outcome=_GIVEN_UP))
        _changed(session, update(CheckJob).where(*its).values(state="queued", worker=""))


def _end(session: Session, job: CheckJob, outcome: dict[str, Any], seconds: float) -> bool:
    its = func.coalesce(CheckJob.seconds, 0.0) + seconds  # after a look
    return _changed(session, _own(job).values(state="done", outcome=outcome, seconds=its))


def _own(job: CheckJob) -> Update:
    return update(CheckJob).where(
        CheckJob.id == job.id,
        CheckJob.state == "running",
        CheckJob.worker == job.worker,
        CheckJob.attempts == job.attempts,
    )


def _changed(session: Session, statement: Update | Delete) -> bool:
    result = session.execute(statement, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    return result.rowcount > 0


def under_way(database: Database, sender: str, account_id: int | None, sha256: str) -> str | None:
    """Return the job of a file that its sender's earlier request left and that has not ended; None without one."""
    of_it = _of_one(CheckJob, sender, account_id)
    same = select(CheckJob.id).where(of_it, CheckJob.file_sha256 == sha256, CheckJob.state != "done")
    with database.transaction() as session:
        return session.scalars(same.limit(1)).one_or_none()


class _Standing(NamedTuple):
    long: bool
    """Whether it is known to be in parts."""
    checked: bool
    """Whether a living process has it, or has ended it since somebody looked."""
    seconds: float
    """For which to wait until one has."""


def _standing(database: Database, settings: Settings, identity: str) -> _Standing:
    has_it = exists().where(RunningProcess.id == CheckJob.worker, ALIVE, CheckJob.state == "running")
    checked = or_(CheckJob.state == "done", has_it)
    with database.transaction() as session:
        found = session.execute(select(_is_long(CheckJob), checked).where(CheckJob.id == identity)).one_or_none()
        long, taken = (False, False) if found is None else found  # withdrawn by another request: the next look says so
        ahead = (CheckJob.state != "done", _is_long(CheckJob) == long, CheckJob.id != identity)
        number = session.scalar(select(func.count()).select_from(CheckJob).where(*ahead)) or 0
        at_once = places(session, long=long)
    longest = longest_check(settings) if long else settings.check_seconds
    # one at least: what a process had that died is another's only when it was silent for a while
    return _Standing(long, taken, waiting_time(max(1, number), at_once, SLOT_TIMEOUT_S, longest))


def _ended(database: Database, identity: str) -> CheckJob | None:
    with database.transaction() as session:
        return ended(session, identity)


def _give_up(database: Database, settings: Settings, identity: str) -> None:
    """Take a job back that nobody has taken. Raises Unavailable where it was so."""
    with database.transaction(write=True) as session:
        withdrawn = withdraw(session, identity)
    if withdrawn:
        vault_of(settings).forget(settings.incoming / identity)
        raise busy("processes that all")


async def outcome(database: Database, settings: Settings, identity: str) -> CheckJob:
    """Wait for the end of a job, and for a database that is away meanwhile.

    Raises Unavailable where nobody has taken it, or the database is away, for longer than the checks in front of it may
    take, and where a living process has it for longer than any. How many parts it names is found by its check: then it
    waits behind others in parts.
    """
    patience = anyio.current_time() + SLOT_TIMEOUT_S + settings.check_seconds
    pause, known = SHORTEST_LOOK_S, None
    while True:
        late, checked = anyio.current_time() > patience, False
        try:
            if (job := await run_sync(_ended, database, identity)) is not None:
                return job
            if late or known is None:
                now = await run_sync(_standing, database, settings, identity)
                checked = now.checked
                if known is None or known.long != now.long:
                    late, known, patience = False, now, anyio.current_time() + now.seconds
            if late and not checked:
                await run_sync(_give_up, database, settings, identity)
        except DATABASE_ERRORS as error:
            # the file waits, is checked or is stored: who sends it is told when the database answers again
            if late:
                raise Unavailable(f"{words_of(error)}; {UNKNOWN}", headers={"Retry-After": "60"}) from error
        if anyio.current_time() > patience + (longest_check(settings) if checked else settings.check_seconds):
            raise Unavailable(f"the check has not ended; {UNKNOWN}", headers={"Retry-After": "60"})
        await anyio.sleep(pause)
        pause = min(LONGEST_LOOK_S, 1.5 * pause)
