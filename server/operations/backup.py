"""Back up the database and all submission files, also while the service runs (decision 9).

The tables are read in one transaction with a consistent snapshot. An accepted file is in place before its row and is
never removed, so the files can be copied after that transaction has ended.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from sqlalchemy import Connection, Engine, case, func, select
from sqlalchemy.exc import DBAPIError

from codec_superb import __version__
from codec_superb.server.database import migrate
from codec_superb.server.database.models import Base, Submission, SubmissionPart, now
from codec_superb.server.database.processes import TRANSIENT
from codec_superb.server.database.session import make_engine
from codec_superb.server.errors import FileChanged, OperationError
from codec_superb.server.operations.backup_file import (
    CHUNK,
    MANIFEST,
    BackupManifest,
    BackupTable,
    HashingStream,
    file_name,
    table_name,
)
from codec_superb.server.operations.new_file import taken, unreadable, write_new
from codec_superb.server.operations.preparation import check_url, unusable
from codec_superb.server.operations.table_dump import write_table
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import submission_path

SHOWN = 5
KEPT = tuple(table for table in Base.metadata.sorted_tables if table.name not in TRANSIENT)
"""Tables of a backup."""


@dataclass(frozen=True, slots=True)
class FinishedBackup:
    """A finished backup."""

    path: Path
    size: int
    """Bytes of the file."""
    manifest: BackupManifest


def make_backup(settings: Settings, target: Path) -> FinishedBackup:
    """Write a backup to the file ``target``, which ends in ``.zip``; another name is a folder, made if missing.

    In a folder the file's name has the time, and a number where one of that second is there.

    Raises OperationError, leaving no file, where the target exists or cannot be written, the database does not answer,
    or a submission's file is missing, cannot be read or differs from its row; one of withdrawn submissions that is
    missing or differs is left out then, and named in the manifest.
    """
    check_url(settings.database_url)
    is_folder = target.is_dir() or target.suffix.lower() != ".zip"
    path = target / f"leaderboard-{now():%Y%m%dT%H%M%SZ}.zip" if is_folder else target
    if path.exists() and not is_folder:
        raise taken(path)
    engine = make_engine(settings.database_url)

    def write(file: IO[bytes]) -> BackupManifest:
        with zipfile.ZipFile(file, "w") as archive:
            return _write(archive, engine, settings)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        place, manifest = write_new(path, write, numbered=is_folder)
    except DBAPIError as error:
        raise unusable(settings, error) from error
    except OSError as error:
        raise OperationError(
            f"no backup was made: cannot write {path}: {error.strerror or error}; free space, or name another place"
        ) from error
    finally:
        engine.dispose()
    return FinishedBackup(place, place.stat().st_size, manifest)


def _write(archive: zipfile.ZipFile, engine: Engine, settings: Settings) -> BackupManifest:
    with _one_view(engine) as connection:
        created = now().isoformat(timespec="seconds")
        revision = _revision(connection)
        tables = {table.name: _add_table(archive, connection, table.name) for table in KEPT}
        wanted = _files_named(connection)
    # after the tables: a file is there before its row and is never removed
    files, missing = _add_files(archive, settings, wanted)
    manifest = BackupManifest(
        created=created, program=__version__, schema_revision=revision, database=engine.dialect.name,
        tables=tables, files=files, missing=missing,
    )  # fmt: skip
    archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
    return manifest


@contextmanager
def _one_view(engine: Engine) -> Iterator[Connection]:
    """Open a transaction with a consistent snapshot: SQLite's always have one, PostgreSQL's at REPEATABLE READ."""
    # SQLite in WAL mode: a reader sees the state at the beginning of its transaction to the end
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        yield connection


def _revision(connection: Connection) -> str:
    found = migrate.current(connection)
    if found != migrate.head():
        raise OperationError(
            f"expected a database with schema {migrate.head()}, got {found or 'none'}: "
            "make backups with the version of codec-superb that serves it"
        )
    return found


def _add_table(archive: zipfile.ZipFile, connection: Connection, name: str) -> BackupTable:
    # the size is not known before, and a member of more than 2 GB needs Zip64 from its header on
    with archive.open(table_name(name), "w", force_zip64=True) as member:
        stream = HashingStream(member)
        rows = write_table(connection, Base.metadata.tables[name], stream)
    return BackupTable(bytes=stream.size, sha256=stream.sha256, rows=rows)


class _Named(NamedTuple):
    """A file that submissions name."""

    sha256: str
    size: int
    needed_by: str | None
    """One of them that is not withdrawn."""


def _files_named(connection: Connection) -> list[_Named]:
    whose = Submission.id, Submission.status
    sent = select(Submission.file_sha256.label("sha256"), Submission.file_size.label("size"), *whose)
    parts = select(SubmissionPart.sha256, SubmissionPart.size, *whose)
    each = sent.union(parts.join(Submission, Submission.id == SubmissionPart.submission_id)).subquery()
    stands = func.min(case((each.c.status != "withdrawn", each.c.id), else_=None))
    found = select(each.c.sha256, each.c.size, stands).group_by(each.c.sha256, each.c.size).order_by(each.c.sha256)
    return [_Named(*row) for row in connection.execute(found)]


def _add_files(
    archive: zipfile.ZipFile, settings: Settings, wanted: Sequence[_Named]
) -> tuple[dict[str, int], dict[str, int]]:
    """Copy the submissions' files and verify each; return them, and those that lack and are not needed, with sizes.

    Raises OperationError naming all wrong ones that are needed.
    """
    wrong: list[str] = []
    files: dict[str, int] = {}
    missing: dict[str, int] = {}
    for sha256, size, needed_by in wanted:
        path = _place(settings, sha256)
        if needed_by is None and not _is_whole(path, sha256, size):  # looked at first: a member cannot be taken back
            missing[sha256] = size
        elif _add_file(archive, path, sha256, size):
            files[sha256] = size
        else:
            wrong.append(f"{sha256} of submission {needed_by}")
    if wrong:
        named = ", ".join(wrong[:SHOWN]) + (f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else "")
        where = settings.vault or settings.files
        raise OperationError(
            f"no backup was made: {len(wrong)} of {len(wanted)} submission files in {where} are missing or changed "
            f"(by SHA-256: {named}); put them back from an older backup, or send again what is missing; else withdraw "
            "the submissions, or reject those that wait: a backup leaves out what only withdrawn ones name"
        )
    return files, missing


def _place(settings: Settings, sha256: str) -> Path:
    """Return where a file is read; a path that does not exist where a store has another one."""
    place = settings.files / f"{sha256}.zip"
    try:
        return submission_path(settings, sha256)
    except FileChanged:
        return place
    except PermissionError as error:
        raise unreadable(place, error) from error


def _is_whole(path: Path, sha256: str, size: int) -> bool:
    with Path(os.devnull).open("wb") as nowhere:
        return _copied(path, nowhere, sha256, size)


def _add_file(archive: zipfile.ZipFile, path: Path, sha256: str, size: int) -> bool:
    with archive.open(file_name(sha256), "w", force_zip64=True) as member:
        return _copied(path, member, sha256, size)


def _copied(path: Path, target: IO[bytes], sha256: str, size: int) -> bool:
    """Copy one file and return whether size and SHA-256 are those of its row."""
    stream = HashingStream(target)
    try:
        for chunk in _chunks(path):
            stream.write(chunk)
    except FileNotFoundError:
        return False
    return (stream.sha256, stream.size) == (sha256, size)


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a file. Raises FileNotFoundError, OperationError where it cannot be read."""
    try:
        with path.open("rb") as source:
            while chunk := source.read(CHUNK):
                yield chunk
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
