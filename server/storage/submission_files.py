"""The folder of accepted files: what is in it is durable before the database names it, and never named falsely.

A file is moved in and named in one critical section that others share; removing files that nobody names needs the
section alone. Both is done with a lock of the operating system, so a killed process leaves no lock behind. The storage
folder belongs to one machine (or to a file system that has ``flock``).
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import select

from codec_superb.pipeline.output_file import write_output
from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission
from codec_superb.server.database.models import Submission as Row
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

ORPHAN_AGE_S = 600.0
"""Seconds after which a leftover is surely one; an upload that is received or checked was written to more recently."""
_NAME = re.compile(r"([0-9a-f]{64})\.zip")


def submission_path(settings: Settings, sha256: str) -> Path:
    """Where the submission with this SHA-256 lies."""
    return settings.files / f"{sha256}.zip"


@contextmanager
def hold_off_cleaning(settings: Settings) -> Iterator[None]:
    """Hold off cleaning while a file is moved in and named in the database; any number of processes at once."""
    with _locked(settings, fcntl.LOCK_SH):
        yield


def move_in(settings: Settings, upload: Path, sha256: str) -> Path:
    """Move a received file, which is on the disk already, to its place, and make the move durable."""
    place = submission_path(settings, sha256)
    upload.replace(place)
    folder = os.open(settings.files, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return place


def remove_orphans(settings: Settings, database: Database, *, older_than: float | None = None) -> int:
    """Remove uploads that were broken off and files that no submission names; return how many.

    ``older_than`` in seconds, by default what an upload can take at most. Does nothing while another process is adding.
    """
    age = ORPHAN_AGE_S + settings.check_seconds if older_than is None else older_than
    removed = sum(_remove(path) for path in _old(settings.incoming, age))
    try:
        with _locked(settings, fcntl.LOCK_EX | fcntl.LOCK_NB), database.transaction() as session:
            for path in _old(settings.files, age):
                name = _NAME.fullmatch(path.name)
                named = name and session.scalar(select(Row.id).where(Row.file_sha256 == name[1]))
                removed += 0 if named or not name else _remove(path)
    except BlockingIOError:
        return removed
    return removed


def _old(folder: Path, age: float) -> list[Path]:
    before = time.time() - age
    found = []
    for path in folder.iterdir():
        try:
            if path.is_file() and path.stat().st_mtime < before:
                found.append(path)
        except FileNotFoundError:  # another process cleans, or an upload has ended
            continue
    return found


def _remove(path: Path) -> int:
    path.unlink(missing_ok=True)
    return 1


@contextmanager
def _locked(settings: Settings, kind: int) -> Iterator[None]:
    with (settings.storage / "files.lock").open("w") as file:
        fcntl.flock(file, kind)
        yield


def public_file(settings: Settings, sha256: str, *, has_contact: bool) -> Path:
    """Return the file of a submission as anybody may have it: as received, or without the submitter's contact.

    The second form has hashes of its own, passes ``check`` like the first, and is made when first asked for.
    """
    original = submission_path(settings, sha256)
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
