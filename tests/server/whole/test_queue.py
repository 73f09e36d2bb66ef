"""The queue of checks on PostgreSQL: who takes what, and what its sender is told."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
from anyio.from_thread import start_blocking_portal
from sqlalchemy import func, update
from support.pipeline.stats import sha
from support.server.ingest import shared_place
from support.server.postgres import PostgresServer

from codec_superb.server.database.models import CheckJob, RunningProcess
from codec_superb.server.database.session import Database
from codec_superb.server.ingest import queue
from codec_superb.server.operations.heartbeat import Heartbeat
from codec_superb.server.people.tokens import account_of


def test_a_check_that_ends_between_two_looks(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sender, whose time is over at that moment, is told its end."""
    monkeypatch.setattr(queue, "SLOT_TIMEOUT_S", 0.1)
    with shared_place(postgres, tmp_path) as (database, settings):
        with database.transaction(write=True) as session:
            session.add(RunningProcess(id="w", name="w", serves=False, checks=1, program="", schema="", key=""))
            queue.enqueue(session, "a", sender="a", account_id=None, sha256=sha("a"))
            assert queue.claim(session, "w") is not None
        over, look = time.monotonic() + 0.6, queue._ended

        def ends_behind(database: Database, identity: str) -> CheckJob | None:
            found = look(database, identity)
            if time.monotonic() > over:
                with database.transaction(write=True) as session:
                    session.execute(update(CheckJob).values(state="done"))
            return found

        monkeypatch.setattr(queue, "_ended", ends_behind)
        hasty = settings.model_copy(update={"check_seconds": 0.2})
        with start_blocking_portal() as portal:  # browser tests leave a loop in this thread
            assert portal.call(queue.outcome, database, hasty, "a").state == "done"


def test_a_full_disk_of_one_checker_refuses_no_file(postgres: PostgresServer) -> None:
    """What one process cannot store another does; where the one that is left has tried, the sender is told."""
    with postgres.database() as url, closing(Database(url)) as database:
        full, other = (RunningProcess(id=name, name=name, serves=False, checks=1, program="", schema="", key="")
                       for name in ("full", "other"))  # fmt: skip
        with database.transaction(write=True) as session:
            session.add(full)
            for name in "ab":
                queue.enqueue(session, name, sender=name, account_id=None, sha256=sha(name))
        with database.transaction(write=True) as session:
            job = queue.claim(session, "full")
            assert job is not None
            assert not queue.pass_on(session, job)  # it is alone
            session.add(other)
            session.flush()
            assert queue.pass_on(session, job)
        with database.transaction(write=True) as session:
            kept = [queue.claim(session, worker) for worker in ("full", "full", "other")]
            assert [each and (each.id, each.attempts) for each in kept] == [("b", 1), None, ("a", 2)]
        for ahead, attempts in ((20, None), (3600, 3)):  # seconds by which the clock was set back; "other" died
            with database.transaction(write=True) as session:
                seen = func.now() + timedelta(seconds=ahead)
                session.execute(update(RunningProcess).where(RunningProcess.id == "other").values(seen=seen))
            with database.transaction(write=True) as session:
                taken = queue.claim(session, "full")
                assert (taken and (taken.id, taken.attempts)) == (attempts and ("a", attempts))


def test_one_sender_does_not_fill_the_queue(postgres: PostgresServer, tmp_path: Path) -> None:
    """However many processes receive: one account finds room behind another's, any account behind those without."""
    with shared_place(postgres, tmp_path) as (database, settings):
        heartbeat = Heartbeat(settings, serves=False, checks=2)
        heartbeat.start()
        with database.transaction(write=True) as session:
            ann, bob = (account_of(session, name).id for name in ("ann", "bob"))

            def fill(sender: str, account: int | None) -> int:
                for number in count():
                    if not queue.has_room(session, sender, account):
                        return number
                    queue.enqueue(
                        session, uuid4().hex, sender=sender, account_id=account, sha256=sha(f"{sender} {number}")
                    )
                    session.flush()
                raise AssertionError

            assert fill("a network", ann) == 16
            assert fill("another one", ann) == 0
            assert fill("a network", bob) == 16
            assert fill("a network", account_of(session, "carl").id) == 0  # half is of one network
            assert sum(fill(f"network {each}", None) for each in range(4)) == 32
            assert fill("one more", account_of(session, "dora").id) == 0
        heartbeat.stop()


def test_accounts_of_one_network_are_one_sender(postgres: PostgresServer, tmp_path: Path) -> None:
    """They leave one of the places of large files to others, and what one used counts for the next."""
    with shared_place(postgres, tmp_path) as (database, _), database.transaction(write=True) as session:
        session.add(RunningProcess(id="w", name="w", serves=False, checks=1, program="", schema="", key=""))
        a, b, ann = (account_of(session, name).id for name in ("a", "b", "ann"))
        for name, sender, account in (
            ("1 of a", "theirs", a), ("2 of b", "theirs", b), ("3 of a", "third", a), ("4 of ann", "hers", ann),
        ):  # fmt: skip
            queue.enqueue(session, name, sender=sender, account_id=account, sha256=sha(name))
            session.flush()
            session.get_one(CheckJob, name).parts = 1
        session.flush()
        taken = [queue.claim(session, "w", long=True) for _ in range(3)]
        assert [each and each.id for each in taken] == ["1 of a", "4 of ann", None]
        assert taken[0] is not None
        assert queue.accept(session, taken[0], "made", new=True, seconds=120.0)
        queue.enqueue(session, "5 of b", sender="theirs", account_id=b, sha256=sha("small"))
        queue.enqueue(session, "6 new", sender="new", account_id=None, sha256=sha("new"))
        first = queue.claim(session, "w")
        assert first is not None
        assert first.id == "6 new"


def test_senders_share_time_and_not_numbers(postgres: PostgresServer, tmp_path: Path) -> None:
    """A series of small files took less time than one large one; who has two large ones there waits with the rest."""
    with shared_place(postgres, tmp_path) as (database, _), database.transaction(write=True) as session:
        session.add(RunningProcess(id="w", name="w", serves=False, checks=2, program="", schema="", key=""))

        def enqueue(name: str, sender: str) -> None:
            queue.enqueue(session, name, sender=sender, account_id=None, sha256=sha(name))
            session.flush()

        def take() -> CheckJob:
            found = queue.claim(session, "w")
            assert found is not None
            return found

        for number in range(14):
            enqueue(f"honest {number}", "ann")
            assert queue.accept(session, take(), "made", new=True, seconds=0.4)
        for number in range(4):
            enqueue(f"large {number}", "eve")
        enqueue("honest last", "ann")
        for number in range(2):
            job = take()  # eve has taken less so far: 0 and 5 seconds against 14 x 0.5
            assert job.id == f"large {number}"
            assert queue.leave_to_long(session, job, 1, 5.0)
        last = take()
        assert last.id == "honest last"
        assert queue.claim(session, "w") is None  # two large ones of eve wait for their check
        for number in range(2):
            enqueue(f"later {number}", "eve")
        first = queue.claim(session, "w", long=True)
        assert first is not None
        assert first.id == "large 0"
        assert queue.accept(session, first, "made", new=True, seconds=60.0)
        assert queue.accept(session, last, "made", new=True, seconds=0.4)
        enqueue("honest again", "ann")
        assert take().id == "honest again"
        session.refresh(first)
        assert first.seconds == 65.0
