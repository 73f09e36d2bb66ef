"""The job ``verify``: clips of a submission are run again, and what came out is signed with the board's own key."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from codec_superb.cli.verification.worker import CLIP_SECONDS, RUNS

UNPREPARED = timedelta(hours=1)
"""Pause of a job whose dataset is not on the machine: whoever starts a worker may prepare it later."""

if TYPE_CHECKING:
    from pathlib import Path

    from codec_superb.cli.verification.worker import Context
    from codec_superb.pipeline.verification.statement import Statement
    from codec_superb.server.database.models import VerificationJob
    from codec_superb.server.verification.jobs import Outcome


def run_verify(context: Context, job: VerificationJob) -> None:
    """Run the job's clips again with a codec of the catalogue, or of an installed plug-in, and store what came out.

    Files that a stranger names are never run. A codec or weights that are not here end the job as ``cannot run``, with
    the reason; the submission stays as it is. For a dataset that is not here yet the job waits. Where the drawn clips
    ran and nothing can be said of them, no other version has a draw by itself; where one fails here that has numbers in
    the file, nothing of its account.
    """
    from codec_superb.cli.console import note
    from codec_superb.pipeline.verification.again import CannotRun, NothingSaid, NotPrepared
    from codec_superb.pipeline.verification.compare import FailedHere, MachineFailed
    from codec_superb.server.verification.jobs import finish, give_back

    place = context.settings.storage / RUNS / str(job.id)
    try:
        statement = _statement(context, job, place)
    except NotPrepared as error:
        note(f"job {job.id}: {error}; it waits for an hour")
        with context.database.transaction(write=True) as session:
            give_back(session, job, context.worker, pause=UNPREPARED, message=str(error))
    except (CannotRun, FailedHere) as error:
        outcome: Outcome = "fails here" if isinstance(error, FailedHere) else "cannot run"
        if isinstance(error, (NothingSaid, MachineFailed)):
            outcome = "nothing said"
        with context.database.transaction(write=True) as session:
            finish(session, job, context.worker, outcome, str(error))
    else:
        _store(context, job, statement)


def _statement(context: Context, job: VerificationJob, place: Path) -> Statement:
    from codec_superb.cli.console import TerminalProgress
    from codec_superb.pipeline.private_sets.scratch import temporary_files_in
    from codec_superb.pipeline.verification.again import Rerun
    from codec_superb.pipeline.verification.verify import Asked, verify
    from codec_superb.pipeline.workers.executor import Executor
    from codec_superb.server.database.models import Submission
    from codec_superb.server.storage.submission_files import submission_path

    with context.database.transaction() as session:
        digest = session.get_one(Submission, job.submission_id).file_sha256
    file, asked = submission_path(context.settings, digest), Asked(job.nonce, job.clips)
    # what a codec that was ended left goes with the job's runs
    temporary = place / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    with (
        temporary_files_in(temporary),
        TerminalProgress() as progress,
        Executor(context.workers, timeout=CLIP_SECONDS) as pool,
    ):
        return verify(
            file, asked, Rerun(place, device=context.device), pool=pool, progress=progress,
            parts=lambda named, index: submission_path(context.settings, named[index].sha256),
        )  # fmt: skip


def _store(context: Context, job: VerificationJob, statement: Statement) -> None:
    """Sign, end the job and change the submission, all at once: a worker that was given up stores nothing."""
    from codec_superb.pipeline.verification.attestation import sign
    from codec_superb.server.errors import Conflict
    from codec_superb.server.verification.attestations import accept
    from codec_superb.server.verification.jobs import finish
    from codec_superb.server.verification.keys import board_key

    message = "\n".join(statement.differing() or [f"not compared: {line}" for line in statement.left_out])
    try:
        with context.database.transaction(write=True) as session:
            if finish(session, job, context.worker, statement.verdict, message):
                accept(session, sign(statement, board_key(session, context.settings)), asked=job.created)
    except Conflict as error:  # withdrawn meanwhile, or fewer clips than verify a row
        with context.database.transaction(write=True) as session:
            finish(session, job, context.worker, statement.verdict, f"{error.detail}\n{message}")
