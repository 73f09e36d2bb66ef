"""The folder of accepted files: a file is durable before the database refers to it (decision 8).

A file is moved in and recorded in the database under a shared lock; removing orphaned files needs the exclusive lock.
Both use flock(2), which the kernel releases with the process, and on PostgreSQL a lock of the database, which other
machines see too.
"""

from __future__ import annotations

import fcntl
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import delete, exists, func, or_, select, update
from sqlalchemy.orm import Session

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.output_file import write_output
from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission
from codec_superb.server.database.models import CheckJob, StagedPart, SubmissionPart, now
from codec_superb.server.database.models import Submission as Row
from codec_superb.server.database.session import Database
from codec_superb.server.errors import FileMissing, Unavailable
from codec_superb.server.settings import Settings
from codec_superb.server.storage.binding import NAME, fault_of_vault
from codec_superb.server.storage.vault import vault_of
from codec_superb.server.storage.vault_layout import LOCK, MARK, old_files

ORPHAN_AGE_S = 600.0
"""Age in seconds from which a stored file without a submission counts as orphaned; those being recorded are newer."""
STAGED_FOR = timedelta(days=3)
"""Time for which a part waits for the file that describes it: a weekend without a line."""
_CLASS, _CLEANING = 0x0C0DEC, 1
"""Key of PostgreSQL's advisory lock against the removal of orphans."""
_LOG = logging.getLogger(__name__)


def submission_path(settings: Settings, sha256: str) -> Path:
    """Return where the submission with this SHA-256 can be read on this machine."""
    return vault_of(settings).fetch(sha256)


@contextmanager
def ready_to_send() -> Iterator[None]:
    """Raise Unavailable where this machine has no room for the copy of a file in a store, or for its public form."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, PipelineError) as error:
        fault = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(fault, OSError):
            raise
        raise Unavailable(f"the file cannot be sent: {fault.strerror or fault}; try again later") from error


@contextmanager
def hold_off_cleaning(settings: Settings) -> Iterator[None]:
    """Hold the shared lock, which prevents the removal of orphans, while a file is moved in and recorded."""
    with _locked(settings, fcntl.LOCK_SH):
        yield


def move_in(settings: Settings, upload: Path, sha256: str) -> Path:
    """Make a received and synced file durable in its place, and return where it can be read."""
    vault_of(settings).keep(upload, sha256)
    return submission_path(settings, sha256)


def hold_off_others(session: Session) -> None:
    """Keep processes on other machines from removing orphans until the transaction ends (PostgreSQL)."""
    session.execute(select(func.pg_advisory_xact_lock_shared(_CLASS, _CLEANING)))


def remove_orphans(settings: Settings, database: Database, *, older_than: float | None = None) -> int:
    """Remove aborted uploads and parts that expired, set files aside that no submission names; return their number.

    An upload is aborted where nobody holds the lock of its file and no check of it is queued. ``older_than`` is the age
    in seconds of files without a submission, and of those left in an object store without a check, by default the
    longest duration of a check. Nothing is touched while another process adds a file, an object store does not answer,
    or the files are another database's: of them this one knows nothing.
    """
    limit = now() - STAGED_FOR
    age = ORPHAN_AGE_S + settings.check_seconds if older_than is None else older_than
    try:
        if (fault := fault_of_vault(settings, database)) is not None:
            _LOG.error("no left-over files are removed: %s", fault.how_to_fix)
            return 0
        # uploads hold it shared: their file is in place before its row is committed, and must not look like an orphan
        with _locked(settings, fcntl.LOCK_EX | fcntl.LOCK_NB), database.transaction() as session:
            if settings.shared and not session.scalar(select(func.pg_try_advisory_xact_lock(_CLASS, _CLEANING))):
                return 0
            # all under the lock: a file that names these parts must never find their rows without them. Killed at any
            # point, rows are left that say so
            with database.transaction(write=True) as marking:
                marking.execute(update(StagedPart).where(StagedPart.received < limit).values(here=False))
            removed = _sweep(settings, session, age, limit)
            with database.transaction(write=True) as clearing:
                clearing.execute(delete(StagedPart).where(StagedPart.received < limit))
    except (BlockingIOError, Unavailable):
        return 0
    return removed


def _sweep(settings: Settings, session: Session, age: float, limit: datetime) -> int:
    unfinished = select(CheckJob.id, CheckJob.file_sha256).where(CheckJob.state != "done")
    queued = {row.id: row.file_sha256 for row in session.execute(unfinished)}
    removed = sum(_remove_abandoned(path) for path in old_files(settings.incoming, 0) if path.name not in queued)
    vault = vault_of(settings)
    for name in set(vault.waiting(age)) - queued.keys():  # killed before or behind its check
        vault.forget(settings.incoming / name)
        removed += 1
    staged = set(session.scalars(select(StagedPart.sha256)))
    waiting = set(session.scalars(select(StagedPart.sha256).where(StagedPart.received >= limit)))
    stored = (*session.scalars(select(Row.file_sha256)), *session.scalars(select(SubmissionPart.sha256)))
    named = {*queued.values(), *stored, *waiting}
    every = set(vault.names(0.0))
    marked = {name.removesuffix(MARK) for name in every if name.endswith(MARK)}
    for sha256 in {*stored} - marked:  # accepted by an earlier program, or just before a kill
        vault.accept(sha256)
    orphans = {name for name in every if NAME.fullmatch(name) and name.partition(".")[0] not in named}
    for name in orphans.intersection(vault.names(age)) if orphans else ():
        sha256 = name.partition(".")[0]
        if sha256 in staged and sha256 not in marked:  # a part that no submission ever named
            vault.remove(name)
        else:
            # aside, not away: the rows may come back, as where an older dump of the database was restored
            vault.set_aside(name)
            _LOG.warning("no submission names a file, which is now in quarantine: %s", name)
        removed += 1
    return removed


def expect_own_vault(settings: Settings, database: Database) -> None:
    """Expect that the files are those of the database. Raises Unavailable, which says what to do."""
    if (fault := fault_of_vault(settings, database)) is not None:
        _LOG.error("nothing is stored: %s", fault.how_to_fix)
        raise Unavailable(
            "this leaderboard is set up with another one's files, or without its own, which its maintainers must mend",
            headers={"Retry-After": "60"},
        )


def remove_new(settings: Settings, database: Database, sha256: str) -> None:
    """Remove a file that no submission has or ever had and nobody has staged, such as a part that is not needed."""
    expect_own_vault(settings, database)
    with _locked(settings, fcntl.LOCK_EX), database.transaction(write=True) as session:
        if settings.shared:
            session.execute(select(func.pg_advisory_xact_lock(_CLASS, _CLEANING)))
        if not _is_named(session, sha256) and not vault_of(settings).accepted(sha256):
            vault_of(settings).remove(f"{sha256}.zip")


def _is_named(session: Session, sha256: str) -> bool:
    """Whether a file is a submission's, a part of one, or waits for one."""
    named = (
        exists().where(Row.file_sha256 == sha256), exists().where(SubmissionPart.sha256 == sha256),
        exists().where(StagedPart.sha256 == sha256),
    )  # fmt: skip
    return bool(session.scalar(select(or_(*named))))


def _remove_abandoned(path: Path) -> int:
    """Remove an upload whose process has ended: the kernel has released its lock, whatever the age of the file."""
    try:
        # open for writing: NFS has no exclusive lock of a file that is only read
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _remove(path)
    except (BlockingIOError, FileNotFoundError):
        return 0


def _remove(path: Path) -> int:
    path.unlink(missing_ok=True)
    return 1


@contextmanager
def _locked(settings: Settings, kind: int) -> Iterator[None]:
    with (settings.storage / LOCK).open("a+") as file:
        # open for both: NFS has no shared lock of a file that is only written
        fcntl.flock(file, kind)
        yield


def public_file(settings: Settings, sha256: str, *, has_contact: bool) -> Path:
    """Return the public file of a submission: as received, or without the submitter's contact.

    The second form has its own hashes, passes ``check`` like the first, and is created on first request. Raises
    FileMissing where the file is not in its place.
    """
    original = submission_path(settings, sha256)
    if not original.exists():
        raise FileMissing(sha256)
    if not has_contact:
        return original
    public = settings.files / f"{sha256}.public.zip"
    if not public.exists():
        members = read_archive(original, file_limit=settings.upload_limit)
        submission = Submission.model_validate_json(members[SUBMISSION_NAME], strict=True)
        assert submission.submitter is not None  # there is no contact without one
        anonymous = submission.model_copy(
            update={"submitter": submission.submitter.model_copy(update={"contact": None})}
        )
        out = io.BytesIO()
        write_archive(out, members | {SUBMISSION_NAME: anonymous.seal().to_json()})
        write_output(public, out.getvalue())
    return public
