"""Restore a backup into a database and storage folder: verified first, then completely or not at all (decision 9).

Everything is unpacked beside the target and verified. One transaction then removes the existing tables, creates the
schema of the backup's revision, inserts the rows, and upgrades to the newest schema; files are in place before it is
committed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from alembic.util import CommandError
from sqlalchemy import Connection, Engine, MetaData, Table, func, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError

from codec_superb.server.database import migrate
from codec_superb.server.database.models import (
    AuditEntry,
    Base,
    DatabaseIdentity,
    Dataset,
    Revision,
    Submission,
    SubmissionPart,
)
from codec_superb.server.database.processes import TRANSIENT
from codec_superb.server.database.session import make_engine
from codec_superb.server.errors import OperationError
from codec_superb.server.operations.backup_file import (
    TABLES,
    BackupFile,
    BackupManifest,
    file_name,
    open_backup,
    table_name,
)
from codec_superb.server.operations.preparation import check_url, make_storage, unusable
from codec_superb.server.operations.table_dump import read_table
from codec_superb.server.operations.table_limits import unfit
from codec_superb.server.settings import Settings
from codec_superb.server.storage.binding import drawn_identity
from codec_superb.server.storage.vault import vault_of

PREPARED = TRANSIENT | {AuditEntry.__tablename__, Dataset.__tablename__, Revision.__tablename__}
"""Tables that have rows in a newly started service."""
_RESTORING = 0x0C0DEC5C
"""Key of PostgreSQL's advisory lock that the transaction of a restore holds to its end."""
_STAGED = "restore-"
"""Beginning of the names of folders in which backups are unpacked."""


def verify_backup(path: Path) -> BackupManifest:
    """Verify a whole backup and return its manifest: every part, every row in a database, and that both kinds take it.

    Raises OperationError where a part differs from the manifest, or where a database would refuse a row.
    """
    with open_backup(path) as backup, tempfile.TemporaryDirectory() as folder:
        _expect_known(path, backup.manifest)
        staged = Path(folder)
        for name in backup.manifest.parts:
            _extract(backup, name, staged / name if name.startswith(TABLES) else Path(os.devnull))
        _try(path, backup.manifest, staged)
        return backup.manifest


def _try(path: Path, manifest: BackupManifest, staged: Path) -> None:
    """Load the tables into an empty SQLite database, whose columns take more than PostgreSQL's, and look for that."""
    engine = make_engine(f"sqlite:///{staged / 'trial.sqlite'}")
    try:
        with _one_transaction(engine) as connection:
            tables = _load(connection, manifest, staged)
    except DBAPIError as error:
        reason = str(error.orig).splitlines()[0]
        raise OperationError(f"{path} holds rows that no database takes ({reason}); take another backup") from error
    finally:
        engine.dispose()
    for table in tables:
        if fault := next(unfit(table, staged / table_name(table.name)), None):
            raise OperationError(
                f"{path} is whole, but fits SQLite alone, PostgreSQL would refuse it: {fault}; correct that row in the "
                "database and make another backup"
            )


def _expect_known(path: Path, manifest: BackupManifest) -> None:
    if not migrate.knows(manifest.schema_revision):
        raise OperationError(
            f"{path} has schema {manifest.schema_revision}, which this program does not know; "
            f"install codec-superb {manifest.program} or newer"
        )


def restore_backup(settings: Settings, path: Path, *, replace: bool = False) -> BackupManifest:
    """Restore database and storage to their state at the time of the backup; the kind of database may differ.

    ``replace`` allows the removal of existing data. Raises OperationError, leaving everything unchanged, where the
    backup is damaged or of a newer program, or the target is not empty; where the database is lost at
    the commit and does not say what became of it, the files stay.
    """
    check_url(settings.database_url)
    with open_backup(path) as backup:
        manifest = backup.manifest
        _expect_known(path, manifest)
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
            drawn = drawn_identity()
            connection.execute(insert(DatabaseIdentity).values(**drawn))
            with _files_in_place(staged, settings, list(manifest.files), owner=str(drawn["identity"])):
                _commit(connection, engine, str(drawn["identity"]), settings)
    except DBAPIError as error:
        raise unusable(settings, error) from error
    except CommandError as error:
        raise OperationError(f"cannot remove the existing schema: {error}; give an empty database") from error
    finally:
        engine.dispose()


class _NotKnownError(OperationError):
    """Nobody can say whether the database has committed."""


def _commit(connection: Connection, engine: Engine, identity: str, settings: Settings) -> None:
    """Commit; where the connection breaks meanwhile, or Ctrl-C does, the database knows whether it did."""
    try:
        connection.commit()
    except (DBAPIError, KeyboardInterrupt) as error:
        connection.invalidate()  # what it has not committed by now it never will
        try:
            done = _asked(engine, identity)
        except DBAPIError:
            raise _NotKnownError(
                f"{check_url(settings.database_url)} was lost in the last step, and whether it holds the backup is not "
                "known; nothing was taken back: once it answers, restore again with --replace"
            ) from error
        if not done:
            raise


def _asked(engine: Engine, identity: str) -> bool:
    """Ask the database whether it is the one that was restored, once the broken connection's transaction has ended."""
    with _one_transaction(engine) as connection:
        there = DatabaseIdentity.__tablename__ in inspect(connection).get_table_names()
        return there and connection.scalar(select(DatabaseIdentity.identity)) == identity


@contextmanager
def _unpacked(backup: BackupFile, storage: Path) -> Iterator[Path]:
    """Unpack and verify everything in a folder on the target's file system, so that files can be renamed into place."""
    for left in storage.glob(_STAGED + "[0-9a-f]" * 8):  # by one that was killed: a copy of every file
        shutil.rmtree(left, ignore_errors=True)
    staged = storage / f"{_STAGED}{secrets.token_hex(4)}"
    try:
        for name in backup.manifest.parts:
            # the files are on the disk before rows name them
            _extract(backup, name, staged / name, sync=True)
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _extract(backup: BackupFile, name: str, target: Path, *, sync: bool = False) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        backup.extract(name, file)
        if sync:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _one_transaction(engine: Engine) -> Iterator[Connection]:
    """Begin a transaction for schema and rows; DDL is transactional on both databases."""
    with engine.connect().execution_options(write=True) as connection:
        if engine.dialect.name == "sqlite":  # SQLite ignores this pragma within a transaction
            connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
        else:
            # a service that still runs holds locks: an error after 30 s instead of waiting for ever
            connection.execute(text("SET LOCAL lock_timeout = '30s'"))
            # who asks what became of a broken connection's transaction waits for its end
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _RESTORING})
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
    _refuse_others_store(connection, settings, there)


def _refuse_others_store(connection: Connection, settings: Settings, there: set[str]) -> None:
    """Raise OperationError where the object store that the settings name has another database's files.

    A trial in a folder of its own would else take the store from the board that runs: the variable is often set.
    """
    if settings.vault is None or not (owner := vault_of(settings).owner()):
        return
    own = DatabaseIdentity.__tablename__ in there and connection.scalar(select(DatabaseIdentity.identity))
    if owner != own:
        raise OperationError(
            f"expected an object store that no database has, got {settings.vault} with another one's files; for a "
            "trial unset CODEC_SUPERB_SERVER_VAULT; where that database is lost for good, --replace gives them away"
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


def _load(connection: Connection, manifest: BackupManifest, staged: Path) -> Sequence[Table]:
    """Create the backup's schema and insert its rows; return the tables, which are those of that schema, not models."""
    migrate.upgrade_within(connection, manifest.schema_revision)
    found = MetaData()
    found.reflect(connection, only=lambda name, _: name not in {migrate.VERSION_TABLE, *TRANSIENT})
    if odd := sorted({*found.tables} ^ {*manifest.tables}):
        names = ", ".join(odd)[:200]
        raise OperationError(
            f"expected the tables of schema {manifest.schema_revision}, {names} differ; take another backup"
        )
    for table in reversed(found.sorted_tables):
        connection.execute(table.delete())  # the migrations themselves insert a row
    for table in found.sorted_tables:
        expected, got = manifest.tables[table.name].rows, read_table(connection, table, staged / table_name(table.name))
        if got != expected:
            raise OperationError(f"{table.name}: expected {expected} rows, got {got}; take another backup")
    if manifest.tables[Revision.__tablename__].rows != 1:
        raise OperationError("expected one row of the table revision, got another number; take another backup")
    named = set(connection.execute(select(found.tables[Submission.__tablename__].c.file_sha256)).scalars())
    if (parts := found.tables.get(SubmissionPart.__tablename__)) is not None:  # a schema before 0013 has none
        named |= set(connection.execute(select(parts.c.sha256)).scalars())
    if named != manifest.files.keys() | manifest.missing.keys():
        raise OperationError("expected a file for each submission, got another set; take another backup")
    return found.sorted_tables


@contextmanager
def _files_in_place(staged: Path, settings: Settings, wanted: Sequence[str], *, owner: str) -> Iterator[None]:
    """Move files into the service's folder, which is the database's from now on; undo both if the body raises."""
    placed, vault = [], vault_of(settings)
    before = vault.owner()
    try:
        for sha256 in wanted:
            if not vault.has(sha256):
                placed.append(sha256)
            vault.keep(staged / file_name(sha256), sha256)
        vault.bind(owner)
        yield
    except _NotKnownError:  # files without rows do no harm, rows without files do
        raise
    except BaseException:
        vault.bind(before)
        for sha256 in placed:
            vault.remove(f"{sha256}.zip")
        raise
