"""Migrate a database to a revision of the schema (alembic); schemas are created and changed in no other way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, make_url, select, text

from codec_superb.data_manifests.files import locked
from codec_superb.server.database.processes import SchemaSupport
from codec_superb.server.database.session import make_engine

FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x0C0DEC5B
"""Key of PostgreSQL's advisory lock for upgrades; such keys are per database, which no other program uses."""
VERSION_TABLE = "alembic_version"
"""Alembic's own table, which no backup holds."""


def upgrade(url: str, revision: str = "head", *, folder: Path = FOLDER) -> bool:
    """Upgrade the database at ``url`` (SQLAlchemy's form), and return whether it was empty: then it has all tables now.

    Concurrent processes are serialised by a lock; the second one has nothing left to do.
    """
    with schema_lock(url):
        engine = make_engine(url)
        try:
            with engine.connect() as connection:
                empty = current(connection) is None
        finally:
            engine.dispose()
        command.upgrade(_config(folder, url=url), revision)
    return empty


def upgrade_within(connection: Connection, revision: str = "head") -> None:
    """Upgrade within an open transaction, so that it is committed with the rest or not at all.

    On SQLite the connection must have been opened without foreign keys: alembic changes its tables by copying them.
    """
    command.upgrade(_config(FOLDER, connection=connection), revision)


def downgrade_within(connection: Connection, revision: str) -> None:
    """Downgrade within an open transaction, under the conditions of :func:`upgrade_within`."""
    command.downgrade(_config(FOLDER, connection=connection), revision)


def downgrade(url: str, revision: str, *, folder: Path = FOLDER) -> None:
    """Downgrade to an older schema; data in tables and columns that it lacks is lost."""
    with schema_lock(url):
        command.downgrade(_config(folder, url=url), revision)


def make_revision(url: str, message: str, *, folder: Path = FOLDER) -> None:
    """Generate a migration from the difference between the database at ``url`` and the models, for developers."""
    command.revision(_config(folder, url=url), message, autogenerate=True)


@cache
def head() -> str:
    """Return the newest revision that this program knows."""
    found = ScriptDirectory(str(FOLDER)).get_current_head()
    assert found is not None
    return found


def knows(revision: str) -> bool:
    """Return whether this program has the migration ``revision``."""
    return any(script.revision == revision for script in ScriptDirectory(str(FOLDER)).walk_revisions())


def runs_on(connection: Connection) -> bool:
    """Return whether this program may run on the database's schema: its newest, or a later one that still fits it.

    A later one is that of a newer program beside which this one runs while a service is upgraded.
    """
    found = current(connection)
    if found == head():
        return True
    if found is None or knows(found):
        return False
    oldest = connection.execute(select(SchemaSupport.oldest).where(SchemaSupport.revision == found)).scalar()
    return oldest is not None and oldest <= head()


def current(connection: Connection) -> str | None:
    """Return the revision of the database's schema; None where there is none."""
    return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def schema_lock(url: str) -> Iterator[None]:
    """Hold the schema's lock: an advisory lock on PostgreSQL, a lock file beside the database file on SQLite."""
    where = make_url(url)
    if where.get_backend_name() == "sqlite":
        file = where.database
        # beside the file: SQLite's own lock lasts for a transaction, and alembic reads the revision before it writes
        with locked(Path(f"{file}.lock")) if file and file != ":memory:" else nullcontext():
            yield
        return
    engine = make_engine(url)
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("SELECT pg_advisory_lock(:number)"), {"number": _LOCK})
            yield
    finally:
        engine.dispose()  # a session-level advisory lock is released with its connection


def _config(folder: Path, **attributes: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))  # configparser interpolates %
    config.attributes.update(attributes)
    return config
