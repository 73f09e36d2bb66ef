"""The queue of the worker: one worker a job, silent ones lose theirs, and nobody is tried for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import select, update
from support.server.board import make_submission

from codec_superb.server.database.models import Account, Submission, VerificationJob, now
from codec_superb.server.database.session import Database
from codec_superb.server.verification import jobs
from codec_superb.server.verification.jobs import ATTEMPTS, PAUSES, SILENCE, beat, claim, enqueue, fail, finish

KINDS = ("verify",)


def queued(database: Database, number: int = 1) -> list[int]:
    """Queue a job for each of so many submissions; return their numbers."""
    with database.transaction(write=True) as session:
        made = [make_submission(session, f"opus_{place}k") for place in range(number)]
        return [enqueue(session, identity, "verify", clips=90).id for identity in made]


def taken(database: Database, worker: str = "one") -> VerificationJob | None:
    """Claim a job."""
    with database.transaction(write=True) as session:
        return claim(session, worker, kinds=KINDS)


def silence(database: Database) -> None:
    """Let the last sign of life of every worker be too long ago."""
    with database.transaction(write=True) as session:
        session.execute(update(VerificationJob).values(heartbeat=now() - SILENCE - timedelta(seconds=1)))


def wait_out(database: Database, number: int) -> None:
    """Let the pause of a job that failed be over."""
    with database.transaction(write=True) as session:
        paused = update(VerificationJob).where(VerificationJob.id == number, VerificationJob.state == "queued")
        session.execute(paused.values(heartbeat=now() - timedelta(seconds=1)))


def stored(database: Database, number: int) -> VerificationJob:
    """Read a job."""
    with database.transaction() as session:
        return session.get_one(VerificationJob, number)


def test_queued_once(database: Database) -> None:
    """What waits or runs is not queued again, what ended is; each job has a nonce of its own that nobody can know."""
    with database.transaction(write=True) as session:
        identity = make_submission(session)
        first = enqueue(session, identity, "verify", clips=90)
        assert enqueue(session, identity, "verify", clips=5).id == first.id
        running = claim(session, "one", kinds=KINDS)
        assert running is not None
        assert enqueue(session, identity, "verify", clips=5).id == first.id
        assert finish(session, running, "one", "agrees", "")
        second = enqueue(session, identity, "verify", clips=5)
    assert second.id != first.id
    assert second.nonce != first.nonce
    assert len(bytes.fromhex(second.nonce)) == 32


def test_a_message_of_a_codec_is_kept_whatever_it_holds(database: Database) -> None:
    """Text that PostgreSQL refuses would cost the job its attempts, and everybody what its worker did."""
    (number,) = queued(database)
    with database.transaction(write=True) as session:
        job = claim(session, "one", kinds=KINDS)
        assert job is not None
        assert finish(session, job, "one", "cannot run", "decoder: a\0b")
    assert stored(database, number).message == "decoder: a\ufffdb"


def test_each_job_has_one_worker(database: Database) -> None:
    """Of eight workers that ask at once for five jobs, five get one each, the oldest first."""
    numbers = queued(database, 5)
    together = Barrier(8)

    def work(name: int) -> int | None:
        together.wait()
        job = taken(database, str(name))
        return None if job is None else job.id

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert sorted(number for number in found if number is not None) == numbers
    assert found.count(None) == 3


def test_accounts_take_turns(database: Database) -> None:
    """Who sends forty versions waits for their own: another's only file comes after the first of them."""
    numbers = queued(database, 4)
    with database.transaction(write=True) as session:
        for number in numbers:
            name = "Bea" if number == numbers[-1] else "Mallory"
            account = session.scalars(select(Account).where(Account.name == name)).one_or_none() or Account(name=name)
            session.get_one(Submission, session.get_one(VerificationJob, number).submission_id).account = account
            session.flush()
    claimed = [job.id for job in (taken(database) for _ in numbers) if job is not None]
    assert claimed == [numbers[0], numbers[3], numbers[1], numbers[2]]


def test_a_kind_that_a_worker_cannot_do_waits(database: Database) -> None:
    """A worker gets jobs of the kinds it asks for."""
    queued(database)
    with database.transaction(write=True) as session:
        assert claim(session, "one", kinds=("private",)) is None
        assert claim(session, "one", kinds=("private", "verify")) is not None


def test_a_silent_worker_loses_its_job(database: Database) -> None:
    """Another one takes it over; the first, awake again, can neither beat nor store, even under the same name."""
    queued(database)
    first = taken(database)
    assert first is not None
    with database.transaction(write=True) as session:
        assert beat(session, first, "one")
    assert taken(database) is None
    silence(database)
    second = taken(database)  # by the same name: process 1 of a container that was started again
    assert second is not None
    assert (second.id, second.attempts) == (first.id, 2)
    with database.transaction(write=True) as session:
        assert not beat(session, first, "one")
        assert not finish(session, first, "one", "agrees", "")
        assert not fail(session, first, "one", "")
        assert not finish(session, second, "two", "agrees", "")
        assert finish(session, second, "one", "differs", "clip a: pesq")
    job = stored(database, first.id)
    assert (job.state, job.outcome, job.message) == ("done", "differs", "clip a: pesq")
    assert job.finished is not None


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_wrong_clock_is_no_silence(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of several machines are measured by the database's clock: one that runs an hour late keeps its job."""
    queued(database)
    with monkeypatch.context() as late:
        late.setattr(jobs, "now", lambda: now() - timedelta(hours=1))
        first = taken(database, "late")
        assert first is not None
        with database.transaction(write=True) as session:
            assert beat(session, first, "late")
    assert taken(database, "right") is None
    with database.transaction(write=True) as session:
        assert finish(session, first, "late", "agrees", "")


def test_given_up_after_three(database: Database) -> None:
    """A job fails for good with its third attempt, whether the worker died or said what went wrong."""
    numbers = queued(database, 2)
    for attempt in range(1, ATTEMPTS + 1):
        silent, unlucky = taken(database), taken(database)
        assert silent is not None
        assert unlucky is not None
        assert (silent.attempts, unlucky.attempts) == (attempt, attempt)
        silence(database)
        with database.transaction(write=True) as session:
            assert fail(session, unlucky, "one", "no space left")
        if attempt < ATTEMPTS:
            pause = stored(database, unlucky.id).heartbeat
            assert pause is not None
            assert timedelta(0) <= now() + PAUSES[attempt - 1] - pause < timedelta(minutes=1)
            wait_out(database, unlucky.id)
    assert taken(database) is None
    states = [stored(database, number) for number in numbers]
    assert [job.state for job in states] == ["failed", "failed"]
    assert "silent" in states[0].message
    assert "no space left" in states[1].message
