"""Several processes on one PostgreSQL and one storage folder are one service.

What they share is tried with two applications in this process, which share nothing but the database and the folder;
what a killed process leaves behind with real ones.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest
from sqlalchemy import delete, func, make_url, select, text
from starlette.testclient import TestClient
from support.pipeline.stats import sha
from support.server.board import make_empty_files, make_submission
from support.server.ingest import (
    UPLOADS,
    WRONG_TOKENS,
    ZIP,
    categories,
    drawn,
    register,
    shared_place,
    token_of,
    whole_submissions,
)
from support.server.people import bearer, csrf_of
from support.server.postgres import PostgresServer
from support.server.serving import PROGRAM, served
from support.timing import PATIENCE_S, wait_for

from codec_superb.server.app import create_app
from codec_superb.server.database.models import AuditEntry, CheckJob, RunningProcess
from codec_superb.server.database.session import Database
from codec_superb.server.ingest import queue
from codec_superb.server.operations.backup import make_backup
from codec_superb.server.operations.restore import verify_backup
from codec_superb.server.settings import Settings


@dataclass(frozen=True)
class Site:
    """A database, a folder, and two processes: the first checks, the second leaves that to others."""

    first: httpx2.Client
    second: httpx2.Client
    database: Database
    settings: Settings

    def send(self, to: httpx2.Client, data: bytes) -> httpx2.Response:
        """Upload."""
        return to.post(UPLOADS, content=data, headers=ZIP | bearer(token_of(self.database, "ann")))

    def jobs(self) -> list[CheckJob]:
        """Read the queue."""
        with self.database.transaction() as session:
            return list(session.scalars(select(CheckJob).order_by(CheckJob.created)))


@pytest.fixture(scope="module")
def two(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Run two applications."""
    with ExitStack() as stack:
        database, settings = stack.enter_context(shared_place(postgres, tmp_path_factory.mktemp("several")))
        first = stack.enter_context(TestClient(create_app(settings)))
        second = stack.enter_context(TestClient(create_app(settings.model_copy(update={"check_workers": 0}))))
        yield Site(first, second, database, settings)


def test_what_one_takes_the_other_shows(two: Site, tmp_path: Path) -> None:
    """A file sent to either is checked once, by the one that checks, and soon on both boards; again it is known.

    A backup that is made while both work has both.
    """
    files = {"several_1k": two.second, "several_2k": two.first}
    for seed, (codec, to) in enumerate(files.items()):
        assert two.send(to, drawn(codec, seed=seed)).status_code == 201
    for client in (two.first, two.second):
        for codec in files:
            wait_for(lambda c=client, n=codec: n in c.get("/api/v1/leaderboard").text, f"{codec} is not shown")
    assert two.send(two.first, drawn("several_1k", seed=0)).status_code == 200
    assert [(job.state, job.attempts) for job in two.jobs()] == [("done", 1)] * 2
    assert len({job.worker for job in two.jobs()}) == 1
    refused = two.send(two.second, b"no zip")
    assert (refused.status_code, bool(refused.json()["problems"])) == (422, True)
    assert list(two.settings.incoming.iterdir()) == []
    assert len(whole_submissions(two.database, two.settings)) == 2
    assert len(verify_backup(make_backup(two.settings, tmp_path / "backup.zip").path).files) == 2


def test_limits_are_counted_together(two: Site) -> None:
    """Wrong tokens are, whichever process they are sent to; in the database stands no address and no token."""
    wrong = bearer("cs_wrongwrong-and-long")
    ways = [two.first, two.second] * (WRONG_TOKENS // 2 + 1)
    assert [client.get("/metrics-internal", headers=wrong).status_code for client in ways] == [401] * WRONG_TOKENS + [
        429
    ] * 2
    waits = two.second.get("/metrics-internal", headers=wrong).headers["retry-after"]
    assert 3500 < int(waits) <= 3600
    with two.database.engine.begin() as connection:
        kept = repr(connection.execute(text("SELECT * FROM rate_hits")).all())
        assert len(kept) > 100
        assert "testclient" not in kept
        assert "wrong" not in kept
        connection.execute(text("UPDATE rate_hits SET at = at - interval '1 hour'"))
    assert two.first.get("/metrics-internal", headers=wrong).status_code == 401


def test_a_login_at_one_is_one_at_the_other(two: Site) -> None:
    """Session and form of a moderator hold at both, and a logout at one ends them at both."""
    form = {"csrf": csrf_of(two.first.get("/login").text), "token": token_of(two.database, "mod", ["moderate"])}
    assert two.first.post("/login", data=form, follow_redirects=False).status_code == 303
    two.second.cookies.update(two.first.cookies)
    csrf = csrf_of(two.second.get("/moderation").text)
    assert two.first.get("/moderation", follow_redirects=False).status_code == 200
    assert two.second.post("/logout", data={"csrf": csrf}, follow_redirects=False).status_code == 303
    assert two.first.get("/moderation", follow_redirects=False).status_code == 303


def test_two_moderators_decide_at_once(two: Site) -> None:
    """Of two opposite decisions at two processes one is made, the other is told so."""
    headers = bearer(token_of(two.database, "mod", ["moderate"]))
    for number in range(3):
        with two.database.transaction(write=True) as session:
            pending = make_submission(session, f"decided_{number}", status="pending", file_sha256=sha(f"d {number}"))
            make_empty_files(session, two.settings.files)

        def decide(client: httpx2.Client, decision: str, address: str) -> int:
            # both saw it pending: rejecting what was accepted a moment before is a decision that may be made
            body = {"decision": decision, "reason": "at once", "status": "pending"}
            return client.post(address, json=body, headers=headers).status_code

        address = f"/api/v1/submissions/{pending}/decision"
        with ThreadPoolExecutor(2) as pool:
            answers = [
                pool.submit(decide, two.first, "accept", address),
                pool.submit(decide, two.second, "reject", address),
            ]
            assert sorted(answer.result() for answer in answers) == [200, 409]
        with two.database.transaction() as session:
            made = select(func.count()).where(AuditEntry.subject == pending, AuditEntry.action == "submission.decided")
            assert session.scalar(made) == 1


def test_processes_that_do_not_go_together(two: Site) -> None:
    """One with another secret key is not ready, those before it are; one that knows an older schema is told of."""
    other = two.settings.model_copy(update={"secret_key": "y" * 40, "check_workers": 0})
    with TestClient(create_app(other)) as third:
        assert [entry["path"] for entry in third.get("/readyz").json()["problems"]] == ["secret_key"]
        assert two.first.get("/readyz").json() == {"status": "ready"}
        with two.database.transaction(write=True) as session:
            session.execute(text("UPDATE running_processes SET schema = '0010' WHERE checks > 0"))
        assert "1 of 3 processes know an older schema" in two.second.get("/readyz").json()["warnings"][0]


def test_a_checker_that_sees_other_files(two: Site, tmp_path: Path) -> None:
    """It takes nothing that it cannot read; readiness says so, and also where nobody sees the files."""
    other = two.settings.model_copy(update={"storage": tmp_path})
    with TestClient(create_app(other)):
        for client in (two.first, two.second):
            told = client.get("/readyz").json()
            assert "1 of 2 processes that check see other files" in told["warnings"][-1]
        for seed in range(4):
            assert two.send(two.second, drawn("several_7k", seed=70 + seed)).status_code == 201
    shutil.copytree(two.settings.files, other.files, dirs_exist_ok=True)
    with TestClient(create_app(other.model_copy(update={"check_workers": 0}))) as lonely:
        (problem,) = lonely.get("/readyz").json()["problems"]
        assert (problem["path"], problem["got"]) == ("checkers", "1 that see other files")


def test_signs_of_life_do_not_wait_for_requests(two: Site) -> None:
    """Where requests hold every connection of the service, it lives on: nobody takes the files that it checks."""
    app: Any = two.first.app  # type: ignore[attr-defined]  # of a TestClient
    mine = select(func.max(RunningProcess.seen)).where(RunningProcess.checks > 0)
    with ExitStack() as held:
        for _ in range(30):  # all that a process opens
            held.enter_context(app.state.database.engine.connect())
        with two.database.transaction() as session:
            before = session.scalar(mine)

        def seen() -> bool:
            with two.database.transaction() as session:
                return session.scalar(mine) != before

        wait_for(seen, "the process is silent")


def test_a_disk_that_cannot_be_written(two: Site) -> None:
    """The sender is told to come back, as where one process is the service, and the file is taken then."""
    assert two.send(two.second, drawn("several_10k", seed=10)).is_success
    away = two.settings.files.rename(two.settings.storage / "away")
    refused = two.send(two.second, drawn("several_5k", seed=5))
    assert refused.status_code == 503, refused.text
    assert "without its own" in refused.json()["detail"]
    assert refused.headers["retry-after"] == "60"
    away.rename(two.settings.files)
    assert two.send(two.second, drawn("several_5k", seed=5)).status_code == 201
    assert list(two.settings.incoming.iterdir()) == []


def test_a_log_in_where_nothing_can_be_stored(two: Site) -> None:
    """A full disk of the database is no fault of the program, nor of who logs in."""
    secret = token_of(two.database, "moderator", ("moderate",))
    full = "BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END"
    with two.database.engine.begin() as connection:
        connection.execute(text(f"CREATE FUNCTION full_log() RETURNS trigger LANGUAGE plpgsql AS $${full}$$"))
        connection.execute(text("CREATE TRIGGER full_log BEFORE INSERT ON audit EXECUTE FUNCTION full_log()"))
    two.first.cookies.clear()
    form = {"csrf": csrf_of(two.first.get("/login").text), "token": secret}
    refused = two.first.post("/login", data=form, follow_redirects=False)
    with two.database.engine.begin() as connection:
        connection.execute(text("DROP FUNCTION full_log CASCADE"))
    assert (refused.status_code, "disk is full" in refused.text) == (503, True)
    assert two.first.post("/login", data=form, follow_redirects=False).status_code == 303
    two.first.cookies.clear()


def test_a_database_that_stores_nothing(two: Site, postgres: PostgresServer) -> None:
    """Full, it is told at once and of what; read-only, the service is not ready; away, an upload waits it out."""
    name = make_url(two.settings.database_url).database
    full = "BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END"
    with two.database.engine.begin() as connection:
        connection.execute(text(f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $${full}$$"))
        connection.execute(text("CREATE TRIGGER full_disk BEFORE INSERT ON clip_blocks EXECUTE FUNCTION full_disk()"))
    refused = two.send(two.first, drawn("several_9k", seed=9))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "300")
    assert "disk is full" in refused.json()["detail"]
    assert not (two.settings.files / f"{hashlib.sha256(drawn('several_9k', seed=9)).hexdigest()}.zip").exists()
    with two.database.engine.begin() as connection:
        connection.execute(text("DROP FUNCTION full_disk CASCADE"))
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    with psycopg.connect(f"host={postgres.socket} user=tests dbname=postgres", autocommit=True) as others:
        headers = ZIP | bearer(token_of(two.database, "ann"))
        others.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        others.execute(ended)
        try:
            told = two.first.get("/readyz").json()["problems"]
            refused = two.first.post(UPLOADS, content=drawn("several_9k", seed=9), headers=headers)
        finally:
            others.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            others.execute(ended)
        assert [(each["path"], "read-only" in each["got"]) for each in told] == [("database", True)]
        assert (refused.status_code, "read-only" in refused.json()["detail"]) == (503, True)
        with closing(psycopg.connect(f"host={postgres.socket} user=tests dbname={name}")) as stuck:
            stuck.execute("LOCK TABLE clip_blocks")
            with ThreadPoolExecutor(1) as pool:
                sent = pool.submit(two.send, two.first, drawn("several_9k", seed=9))
                wait_for(lambda: any(job.state == "running" for job in two.jobs()), "nobody took the file")
                others.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
                others.execute(ended)
                time.sleep(1)  # several looks of the request
                others.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
                assert sent.result(PATIENCE_S).status_code == 201, sent.result().text


def test_a_check_that_takes_long(two: Site, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sender waits as long as parts may take, the same file once more for the same check; others are told in time.

    Of three seconds a file, a look and fifty parts have seventeen; the wait ended after eight, five for a place.
    """
    monkeypatch.setattr(queue, "SLOT_TIMEOUT_S", 2.0)
    hasty = create_app(two.settings.model_copy(update={"check_workers": 0, "check_seconds": 3.0}))
    headers = ZIP | bearer(token_of(two.database, "ann"))
    name = make_url(two.settings.database_url).database
    with TestClient(hasty) as client, ThreadPoolExecutor(3) as pool:

        def send(seed: int) -> httpx2.Response:
            return client.post(UPLOADS, content=drawn(f"several_{seed}k", seed=seed), headers=headers)

        with closing(psycopg.connect(f"host={postgres.socket} user=tests dbname={name}")) as stuck:
            stuck.execute("LOCK TABLE clip_blocks")
            first = pool.submit(send, 11)
            wait_for(lambda: any(job.state == "running" for job in two.jobs()), "nobody took the file")
            began, before = time.monotonic(), len(two.jobs())
            again, other = pool.submit(send, 11), pool.submit(send, 12)
            refused = other.result(PATIENCE_S)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
            assert "the file was not stored" in refused.json()["detail"]
            assert len(two.jobs()) == before
            time.sleep(max(0.0, began + 8.5 - time.monotonic()))
            assert not first.done()
        answers = [sent.result(PATIENCE_S) for sent in (first, again)]
    assert [answer.status_code for answer in answers] == [201, 200], [answer.text for answer in answers]
    assert answers[0].json()["id"] == answers[1].json()["id"]


def test_a_file_that_cannot_be_removed_ends_no_checker(two: Site) -> None:
    """Nor does a store that is away at that moment: the process would live, call itself ready, and check nothing."""
    with two.database.transaction(write=True) as session:
        stuck = uuid4().hex
        (two.settings.incoming / stuck).mkdir()  # open(2) and unlink(2) both fail
        queue.enqueue(session, stuck, sender="a", account_id=None, sha256=sha(stuck))
    wait_for(lambda: all(job.state == "done" for job in two.jobs()), "nobody took the file")
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(two.send, two.second, drawn("several_6k", seed=6))
        try:
            assert sent.result(30).status_code == 201
        finally:
            (two.settings.incoming / stuck).rmdir()
            with two.database.transaction(write=True) as session:  # nobody waits for what nobody takes
                session.execute(delete(CheckJob).where(CheckJob.state == "queued"))


@pytest.mark.slow
def test_what_a_killed_process_checked_another_checks(postgres: PostgresServer, tmp_path: Path) -> None:
    """Killed in the middle of a check, its file is taken over by a process elsewhere, and the sender gets the receipt.

    While nobody checks, the one that still serves says so and takes no upload.
    """
    with ExitStack() as stack:
        database, settings = stack.enter_context(shared_place(postgres, tmp_path / "storage"))
        where = ["--database", settings.database_url, "--storage", str(settings.storage)]
        patient = {"CODEC_SUPERB_SERVER_CHECK_SECONDS": "600"}  # of the clock, which a busy machine has little of
        none = patient | {"CODEC_SUPERB_SERVER_CHECK_WORKERS": "0"}
        killed = stack.enter_context(served(*where, environment=patient))
        serves = stack.enter_context(served(*where, environment=none))
        register(database, "mini", categories())  # the real one is current since the start
        client = stack.enter_context(httpx2.Client(base_url=serves.url, timeout=PATIENCE_S))
        site = Site(client, client, database, settings)
        with database.transaction() as session:
            name = session.scalars(select(RunningProcess.name).where(RunningProcess.checks > 0)).one()
        assert int(name.rpartition(":")[2]) == killed.process.pid
        listed = subprocess.run(["pgrep", "-P", name.rpartition(":")[2]], capture_output=True, text=True, check=True)
        (fork_server,) = map(int, listed.stdout.split())
        os.kill(fork_server, signal.SIGSTOP)  # a check that has begun and does not end
        sent = stack.enter_context(ThreadPoolExecutor(1)).submit(site.send, client, drawn("several_3k", seed=3))
        wait_for(lambda: [job.state for job in site.jobs()] == ["running"], "nobody has begun the check")
        killed.process.kill()
        os.killpg(fork_server, signal.SIGKILL)
        wait_for(lambda: client.get("/readyz").status_code == 503, "nobody missed the one that checks")
        assert [entry["path"] for entry in client.get("/readyz").json()["problems"]] == ["checkers"]
        assert site.send(client, drawn("several_4k", seed=4)).status_code == 503
        program = [sys.executable, "-c", PROGRAM, "check-worker", *where, "--json"]
        environment = os.environ | patient
        with subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as worker:
            try:
                assert sent.result(PATIENCE_S).status_code == 201
                assert client.get("/readyz").json() == {"status": "ready"}
                worker.terminate()
                assert '"checked": 1' in worker.communicate(timeout=PATIENCE_S)[0]
            finally:
                worker.kill()
        assert worker.returncode == 0
        assert [(job.state, job.attempts) for job in site.jobs()] == [("done", 2)]
        assert len(whole_submissions(database, settings)) == 1
