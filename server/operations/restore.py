"""Restore a backup into a database and storage folder: verified first, then completely or not at all (decision 9).

Everything is unpacked beside the target and verified. One transaction then removes the existing tables, creates the
schema of the backup's revision, inserts the rows, and upgrades to the newest schema; files are in place before it is
committed.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from alembic.util import CommandError
from sqlalchemy import Connection, Engine, MetaData, func, inspect, select, text, update
from sqlalchemy.exc import DBAPIError

from codec_superb.server.database import migrate
from codec_superb.server.database.models import AuditEntry, Base, Dataset, Revision, Submission
from codec_superb.server.database.session import make_engine
from codec_superb.server.errors import OperationError
from codec_superb.server.operations.backup_file import BackupFile, BackupManifest, file_name, open_backup, table_name
from codec_superb.server.operations.preparation import check_url, make_storage, unusable
from codec_superb.server.operations.table_dump import read_table
from codec_superb.server.settings import Settings

PREPARED = frozenset({AuditEntry.__tablename__, Dataset.__tablename__, Revision.__tablename__})
"""Tables that have rows in a newly started service."""


def verify_backup(path: Path) -> BackupManifest:
    """Verify a whole backup and return its manifest. Raises OperationError where a part differs from the manifest."""
    with open_backup(path) as backup, Path(os.devnull).open("wb") as nowhere:
        for name in backup.manifest.parts:
            backup.extract(name, nowhere)
        return backup.manifest


def restore_backup(settings: Settings, path: Path, *, replace: bool = False) -> BackupManifest:
    """Restore database and storage to their state at the time of the backup; the kind of database may differ.

    ``replace`` allows the removal of existing data. Raises OperationError, leaving everything unchanged, where the
    backup is damaged or of a newer program, or the target is not empty.
    """
    check_url(settings.database_url)
    with open_backup(path) as backup:
        manifest = backup.manifest
        if not migrate.knows(manifest.schema_revision):
            raise OperationError(
                f"{path} has schema {manifest.schema_revision}, which this program does not know; "
                f"install codec-superb {manifest.program} or newer"
            )
        make_storage(settings)
        with migrate.schema_lock(settings.database_url), _unpacked(backup, settings.storage) as staged:
            _put(settings, manifest, staged, replace=replace)
    return manifest


def _put(settings: Settings, manifest: BackupManifest, staged: Path, *, replace: bool) -> None:
    engine = make_engine(settings.database_url)
    try:
        with _one_transaction(engine) as connection:
            if not replace:
                _refuse_used(connection, settings)
            number = _clear(connection)
            _load(connection, manifest, staged)
            migrate.upgrade_within(connection)
            _outdate(connection, number)
            # files before the commit: a row without its file cannot be, a file without its row is removed later
            with _files_in_place(staged, settings.files, list(manifest.files)):
                connection.commit()
    except DBAPIError as error:
        raise unusable(settings, error) from error
    except CommandError as error:
        raise OperationError(f"cannot remove the existing schema: {error}; give an empty database") from error
    finally:
        engine.dispose()


@contextmanager
def _unpacked(backup: BackupFile, storage: Path) -> Iterator[Path]:
    """Unpack and verify everything in a folder on the target's file system, so that files can be renamed into place."""
    staged = storage / f"restore-{secrets.token_hex(4)}"
    try:
        for name in backup.manifest.parts:
            target = staged / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                backup.extract(name, file)
                file.flush()
                # the files are on the disk before rows name them
                os.fsync(file.fileno())
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@contextmanager
def _one_transaction(engine: Engine) -> Iterator[Connection]:
    """Begin a transaction for schema and rows; DDL is transactional on both databases."""
    with engine.connect().execution_options(write=True) as connection:
        if engine.dialect.name == "sqlite":  # SQLite ignores this pragma within a transaction
            connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
        else:
            # a service that still runs holds locks: an error after 30 s instead of waiting for ever
            connection.execute(text("SET LOCAL lock_timeout = '30s'"))
        yield connection


def _refuse_used(connection: Connection, settings: Settings) -> None:
    """Raise OperationError where the database has rows beyond those of a newly started service."""
    known = [table for table in Base.metadata.sorted_tables if table.name not in PREPARED]
    there = set(inspect(connection).get_table_names())
    used = [
        table.name for table in known
        if table.name in there and connection.execute(select(func.count()).select_from(table)).scalar_one()
    ]  # fmt: skip
    if used:
        database = check_url(settings.database_url)
        raise OperationError(
            f"expected an empty leaderboard in {database}, got one with {', '.join(used)}; "
            "--replace removes them for good"
        )


def _clear(connection: Connection) -> int:
    """Remove the existing schema and return its revision number of public data; 0 for none."""
    there = inspect(connection).get_table_names()
    number = connection.execute(select(func.max(Revision.number))).scalar() if Revision.__tablename__ in there else 0
    # through the migrations, in the same transaction: both databases can undo changes of the schema
    migrate.downgrade_within(connection, "base")
    return number or 0


def _outdate(connection: Connection, number: int) -> None:
    """Set the revision number above those of both databases, so that all caches of running processes are outdated."""
    # larger than either: caches of processes that still run must not take the restored state for one they know
    newest = max(number, connection.execute(select(Revision.number)).scalar_one())
    connection.execute(update(Revision).values(number=newest + 1))


def _load(connection: Connection, manifest: BackupManifest, staged: Path) -> None:
    """Create the backup's schema and insert its rows; the tables are reflected from that schema, not the models."""
    migrate.upgrade_within(connection, manifest.schema_revision)
    found = MetaData()
    found.reflect(connection, only=list(manifest.tables))
    for table in reversed(found.sorted_tables):
        connection.execute(table.delete())  # the migrations themselves insert a row
    for table in found.sorted_tables:
        expected, got = manifest.tables[table.name].rows, read_table(connection, table, staged / table_name(table.name))
        if got != expected:
            raise OperationError(f"{table.name}: expected {expected} rows, got {got}; take another backup")
    named = set(connection.execute(select(found.tables[Submission.__tablename__].c.file_sha256)).scalars())
    if named != set(manifest.files):
        raise OperationError("expected a file for each submission, got another set; take another backup")


@contextmanager
def _files_in_place(staged: Path, folder: Path, wanted: Sequence[str]) -> Iterator[None]:
    """Move files into the service's folder; remove the new ones again if the body raises."""
    placed = []
    try:
        for sha256 in wanted:
            target = folder / f"{sha256}.zip"
            if not target.exists():
                placed.append(target)
            (staged / file_name(sha256)).replace(target)
        _sync(folder)
        yield
    except BaseException:
        for target in placed:
            target.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """Sync the folder, so that its new names survive a power loss (fsync(2) of the file alone does not cover them)."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
