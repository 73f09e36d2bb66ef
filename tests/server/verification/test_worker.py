"""The worker runs submissions again: honest ones are verified, forged ones held, the job of a killed one goes on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from support.pipeline.verified import forged, packed, raised
from support.server.board import make_submission
from support.server.compare import block
from support.server.serving import PROGRAM
from support.timing import wait_for

from codec_superb.cli.main import call
from codec_superb.cli.verification import verify_job
from codec_superb.cli.verification.handlers import HANDLERS
from codec_superb.cli.verification.worker import RUNS, Context, remove_ended, work
from codec_superb.data_manifests.dataset import Dataset
from codec_superb.data_manifests.errors import DatasetNotPrepared
from codec_superb.pipeline.errors import InUse, NoRoom
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.check import check_and_open
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification import again
from codec_superb.pipeline.verification.again import CannotRun, NothingSaid
from codec_superb.pipeline.verification.attestation import check_signature, read_attestation
from codec_superb.pipeline.verification.compare import FailedHere, MachineFailed
from codec_superb.server.database.models import (
    Attestation,
    ClipBlock,
    Submission,
    VerificationJob,
    VerificationKey,
    now,
)
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.service import decide
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import submission_path
from codec_superb.server.verification.jobs import SILENCE, claim, enqueue


def stored(
    database: Database, settings: Settings, file: Path, codec: str = "opus_6k", owner: str = "someone"
) -> str:  # fmt: skip
    """Store a file as a self-reported submission, and queue it; return the id."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    settings.files.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, submission_path(settings, digest))
    with database.transaction(write=True) as session:
        identity = make_submission(session, codec, file_sha256=digest, owner=owner)
        _, opened = check_and_open(file)
        assert opened is not None
        rows, keys = opened.rows, list(opened.submission.metrics)
        session.get_one(Submission, identity).document = opened.submission.model_dump(
            mode="json", exclude={"codec", "aggregates"}
        )
        session.add(ClipBlock(submission_id=identity, dataset="mini", rows=len(rows), data=block(rows, keys)))
        enqueue(session, identity, "verify", clips=0)
    return identity


def look(database: Database, identity: str) -> tuple[Submission, VerificationJob]:
    """Read a submission and its job."""
    with database.transaction() as session:
        job = session.scalars(select(VerificationJob).where(VerificationJob.submission_id == identity)).one()
        return session.get_one(Submission, identity), job


def context_of(database: Database, settings: Settings) -> Context:
    """Work as one process."""
    return Context(database, settings, "cpu", 1)


def _renamed(name: str) -> Callable[[RunFolder, Path], Path]:
    def pack_renamed(run: RunFolder, out: Path) -> Path:
        copy = RunFolder(out.with_suffix("") / "mini")
        info = run.info()
        copy.write_info(info.model_copy(update={"card": info.card.model_copy(update={"name": name})}))
        copy.write_rows(run.rows(), list(info.metrics))
        return packed(copy, out)

    return pack_renamed


def _better(row: ClipRow) -> ClipRow:
    return raised("mel", -0.05)(row)


def test_a_dataset_that_is_not_here_yet(
    run: RunFolder, database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The job waits and says for what: its maintainers may prepare the dataset, and nobody need queue it again."""

    def not_here(spec: str) -> Dataset:
        raise DatasetNotPrepared(f"{spec} is not on this machine: run `codec-superb datasets prepare {spec}`")

    identity = stored(database, settings, packed(run, tmp_path / "honest.zip"))
    with monkeypatch.context() as away:
        away.setattr(again, "open_dataset", not_here)
        work(context_of(database, settings), HANDLERS, once=True)
    _, job = look(database, identity)
    assert (job.state, job.outcome, job.attempts) == ("queued", "", 0)
    assert job.heartbeat is not None
    assert job.heartbeat > now() + timedelta(minutes=50)
    assert "run `codec-superb datasets prepare mini`; it waits for an hour" in capsys.readouterr().err
    assert "run `codec-superb datasets prepare mini`" in job.message


def test_a_draw_in_vain_is_the_only_one(run: RunFolder, database: Database, settings: Settings, tmp_path: Path) -> None:
    """Of another sound by other libraries nothing can be said: a newer version is not drawn from by itself."""

    def claimed(name: str) -> Path:
        copy = RunFolder(tmp_path / name / run.path.name)
        stamps = tuple(of.model_copy(update={"packages": {"av": name}}) for of in run.info().provenance)
        copy.write_info(run.info().model_copy(update={"provenance": stamps}))
        rows = [row.model_copy(update={"resynthesis_sha256": "0" * 64}) for row in run.rows()]
        copy.write_rows(rows, list(run.info().metrics))
        return packed(copy, tmp_path / f"{name}.zip")

    settings = settings.model_copy(update={"verify_accepted": True})
    first = stored(database, settings, claimed("first"), owner="eve")
    assert work(context_of(database, settings), HANDLERS, once=True) == 1
    submission, job = look(database, first)
    assert (submission.status, job.outcome) == ("self-reported", "nothing said")
    stored(database, settings, claimed("second"), owner="eve")
    assert work(context_of(database, settings), HANDLERS, once=True) == 0


ENDS = {FailedHere: "fails here", MachineFailed: "nothing said", NothingSaid: "nothing said", CannotRun: "cannot run"}


@pytest.mark.parametrize("error", ENDS)
def test_how_a_job_without_a_verdict_ends(
    run: RunFolder, database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
) -> None:  # fmt: skip
    """The outcome decides whether another draw is made by itself."""

    def ends(*_: object) -> None:
        raise error("why")

    monkeypatch.setattr(verify_job, "_statement", ends)
    identity = stored(database, settings, packed(run, tmp_path / "file.zip"))
    work(context_of(database, settings), HANDLERS, once=True)
    assert look(database, identity)[1].outcome == ENDS[error]


@pytest.mark.sample(2, among="a worker that verifies")
def test_what_the_worker_makes_of_files(run: RunFolder, database: Database, settings: Settings, tmp_path: Path) -> None:
    """Honest: verified and signed by the board. Forged: held. Unknown code, even named as a file: never run."""
    own = tmp_path / "mine.py"
    own.write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')\n")
    clip = next(row.clip for row in run.rows())
    honest = stored(database, settings, packed(run, tmp_path / "honest.zip"))
    bad = stored(database, settings, forged(run, tmp_path / "forged.zip", [clip], _better), owner="eve")
    closed = stored(database, settings, _renamed("mine.py")(run, tmp_path / "closed.zip"), "mine")
    assert work(context_of(database, settings), HANDLERS, once=True) == 3
    submission, job = look(database, honest)
    assert (submission.status, submission.decided_by, job.state, job.outcome) == (
        "verified", "the board", "done", "agrees",
    )  # fmt: skip
    submission, job = look(database, bad)
    assert (submission.status, job.outcome) == ("held", "differs")
    assert job.message.startswith(f"mini, {clip}: mel: ")
    assert submission.reason is not None
    assert job.message in submission.reason
    submission, job = look(database, closed)
    assert (submission.status, submission.decided, job.outcome) == ("self-reported", None, "cannot run")
    assert "mine.py is no codec of the catalogue" in job.message
    assert not (tmp_path / "was_run").exists()
    with database.transaction() as session:
        (key,) = session.scalars(select(VerificationKey)).all()
        signed = session.scalars(select(Attestation)).all()
    assert {row.submission_id: row.agrees for row in signed} == {honest: True, bad: False}
    for row in signed:
        check_signature(read_attestation(json.dumps(row.document).encode()), key.public_key)
        assert row.document["statement"]["nonce"] == look(database, row.submission_id)[1].nonce
    assert list((settings.storage / RUNS).iterdir()) == []


@pytest.mark.sample(2, among="a worker that verifies")
def test_a_hold_outlasts_the_worker_that_was_at_it(
    run: RunFolder, database: Database, settings: Settings, tmp_path: Path
) -> None:
    """Who holds a submission while a job waits or runs has a reason of their own; one queued later verifies."""
    identity = stored(database, settings, packed(run, tmp_path / "honest.zip"))
    with database.transaction(write=True) as session:
        decide(session, identity, "hold", "its samples hold an insult", actor="Mod")
    for status in ("held", "verified"):
        assert work(context_of(database, settings), HANDLERS, once=True) == 1
        with database.transaction(write=True) as session:
            assert session.get_one(Submission, identity).status == status
            enqueue(session, identity, "verify", clips=0)


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_killed_workers_job_goes_on(
    run: RunFolder, database: Database, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGKILL while it works: after its silence another process takes the job over, and says so before.

    It ends the job with the clips that are there.
    """
    identity = stored(database, settings, packed(run, tmp_path / "honest.zip"))

    def made() -> dict[Path, int]:
        return {file: file.stat().st_mtime_ns for file in (settings.storage / RUNS).rglob("*.flac")}

    arguments = ["verify-worker", "--once", "--device", "cpu", "--workers", "1", "--storage", str(settings.storage)]
    program = [sys.executable, "-c", PROGRAM, *arguments, "--database", settings.database_url]
    with subprocess.Popen(program, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: bool(made()), "the worker ran no clip")
        os.killpg(process.pid, signal.SIGKILL)
    _, left = look(database, identity)
    assert (left.state, left.attempts, left.finished) == ("running", 1, None)
    assert work(context_of(database, settings), HANDLERS, once=True) == 0
    assert (
        "1 job of other workers not ended; a worker that was killed is given up after 2 minutes"
        in capsys.readouterr().err
    )
    with database.transaction(write=True) as session:
        session.execute(update(VerificationJob).values(heartbeat=now() - SILENCE - timedelta(seconds=1)))
    done = made()

    def goes_on(context: Context, job: VerificationJob) -> None:
        HANDLERS["verify"](context, job)
        assert done.items() <= made().items()

    assert work(context_of(database, settings), {"verify": goes_on}, once=True) == 1
    submission, job = look(database, identity)
    assert (submission.status, job.outcome, job.attempts) == ("verified", "agrees", 2)


def test_what_goes_wrong_is_tried_again_and_an_interrupt_is_no_attempt(
    database: Database, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three faults end a job with the reason and remove its runs, a folder in use counts for nothing, each waits.

    Ctrl-C puts it back as it was, and ends the worker.
    """
    with database.transaction(write=True) as session:
        identity = make_submission(session)
        enqueue(session, identity, "verify", clips=None)

    def interrupted(_context: Context, _job: VerificationJob) -> None:
        raise KeyboardInterrupt

    def faulty(context: Context, job: VerificationJob) -> None:
        (context.settings.storage / RUNS / str(job.id)).mkdir(parents=True, exist_ok=True)
        raise OSError("no space left on device")

    with pytest.raises(KeyboardInterrupt):
        work(context_of(database, settings), {"verify": interrupted}, once=True)
    assert (look(database, identity)[1].state, look(database, identity)[1].attempts) == ("queued", 0)

    def busy(_context: Context, _job: VerificationJob) -> None:
        raise InUse("another process is working on it")

    def away(_context: Context, _job: VerificationJob) -> None:
        with closing(Database("sqlite:////no/such/folder/board.sqlite")) as other, other.transaction() as session:
            session.execute(select(1))

    def full(_context: Context, _job: VerificationJob) -> None:
        raise NoRoom("no space to write rows.jsonl")

    for handler, attempts in ((busy, 0), (faulty, 1), (busy, 1), (full, 1), (away, 2), (faulty, 3)):
        assert work(context_of(database, settings), {"verify": handler}, once=True) == 1
        _, job = look(database, identity)
        assert job.attempts == attempts
        if handler is full:  # which is no fault of a job either, and would end all of the queue
            assert job.message == "no space to write rows.jsonl; it waits for 10 minutes"
        if handler is away:  # without its address
            assert job.message == "the database does not answer right now"
        kept = [place.name for place in (settings.storage / RUNS).glob("*")]
        if job.state == "queued":  # and not before the pause is over
            assert kept == [str(job.id)] * (attempts > 0)
            capsys.readouterr()
            assert work(context_of(database, settings), {"verify": handler}, once=True) == 0
            assert "1 job waiting for the next attempt" in capsys.readouterr().err
            with database.transaction(write=True) as session:
                session.execute(update(VerificationJob).values(heartbeat=now()))
    _, job = look(database, identity)
    assert (job.state, job.attempts, kept) == ("failed", 3, [])
    assert "no space left" in job.message


def test_a_database_that_is_away_is_waited_for(migrated_sqlite: Path, tmp_path: Path) -> None:
    """A worker that stays goes on when its database is back, as a service does; what a timer starts ends with it."""
    here, place = tmp_path / "here", tmp_path / "away"
    here.mkdir()
    shutil.copy(migrated_sqlite, here / "board.sqlite")
    with closing(Database(f"sqlite:///{here / 'board.sqlite'}")) as before, before.transaction(write=True) as session:
        enqueue(session, make_submission(session), "verify", clips=None)
    settings = Settings(storage=tmp_path / "storage", database=f"sqlite:///{place / 'board.sqlite'}")

    def interrupted(_context: Context, _job: VerificationJob) -> None:
        raise KeyboardInterrupt

    with closing(Database(settings.database_url)) as database:
        with pytest.raises(OperationalError):
            work(context_of(database, settings), {"verify": interrupted}, once=True)
        back = threading.Timer(0.2, here.rename, [place])
        back.start()
        with pytest.raises(KeyboardInterrupt):
            work(context_of(database, settings), {"verify": interrupted}, once=False)
        back.join()

        def gone(context: Context, _job: VerificationJob) -> None:
            context.database.engine.dispose()
            place.rename(here)
            raise OSError("the machine has no network")

        with pytest.raises(OperationalError):
            work(context_of(database, settings), {"verify": gone}, once=True)


@pytest.mark.sample(2, among="a worker that verifies")
def test_a_worker_that_was_given_up_leaves_the_folder(
    run: RunFolder, database: Database, settings: Settings, tmp_path: Path
) -> None:
    """Its successor works there: what is left of the first stores and removes nothing."""
    identity = stored(database, settings, packed(run, tmp_path / "honest.zip"))
    context = context_of(database, settings)
    with database.transaction(write=True) as session:
        late = claim(session, context.worker, kinds=("verify",))
        assert late is not None
        session.expunge(late)
        session.execute(update(VerificationJob).values(attempts=2, worker="another"))
    verify_job.run_verify(context, late)
    remove_ended(context)
    left = settings.storage / RUNS / str(late.id)
    assert (left / "opus_6k").is_dir()
    assert (left / "tmp").is_dir()  # of temporary files, which go with the runs
    submission, job = look(database, identity)
    assert (submission.status, job.state) == ("self-reported", "running")


def test_every_accepted_one_where_the_setting_says_so(database: Database, settings: Settings) -> None:
    """Self-reported ones are queued once; held, verified and custom ones are not, nor any without the setting."""
    with database.transaction(write=True) as session:
        wanted = make_submission(session, "opus_6k")
        for number, status in enumerate(("held", "verified", "pending", "withdrawn")):
            make_submission(session, f"other_{number}", status=status)
    seen: list[str] = []

    def note(context: Context, job: VerificationJob) -> None:
        from codec_superb.server.verification.jobs import finish

        seen.append(job.submission_id)
        with context.database.transaction(write=True) as session:
            finish(session, job, context.worker, "cannot run", "")

    assert work(context_of(database, settings), {"verify": note}, once=True) == 0
    eager = settings.model_copy(update={"verify_accepted": True})
    for _ in range(2):
        work(context_of(database, eager), {"verify": note}, once=True)
    assert seen == [wanted]


@pytest.mark.sample(2, among="a worker that verifies")
def test_maintainers_commands(
    run: RunFolder, database: Database, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a key to a verified row on the command line: key, attestation, its acceptance, the queue, revocation."""
    honest = packed(run, tmp_path / "h.zip")
    identity = stored(database, settings, honest)
    board = ["--database", settings.database_url, "--storage", str(settings.storage)]
    key, signed = str(tmp_path / "key"), str(tmp_path / "signed.json")
    assert call(["admin", "key", "create", "Mai", "--out", key, *board]) == 0
    public = capsys.readouterr().out.strip()
    assert call(["verify", str(honest), "--key", key, "--out", signed, "--device", "cpu", "--workers", "1"]) == 0
    assert "opus_6k: agrees: run again 4 of 4 clips of mini; 4 sound the same" in capsys.readouterr().out
    assert call(["admin", "verify", "add", signed, *board]) == 0
    assert look(database, identity)[0].status == "verified"
    assert call(["admin", "verify", "add", signed, *board]) == 2
    assert call(["admin", "verify", "add", f"{signed}.missing", *board]) == 2
    assert call(["admin", "verify", "enqueue", identity, "--clips", "2", *board]) == 0
    capsys.readouterr()
    assert call(["admin", "verify", "list", "--json", *board]) == 0
    assert [entry["state"] for entry in json.loads(capsys.readouterr().out)] == ["queued"]
    assert call(["admin", "key", "list", "--json", *board]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["public_key"]) == ("Mai", public)
    assert call(["admin", "key", "revoke", listed["fingerprint"][:10], *board]) == 0
