"""Brings a database to a revision of the schema; the only way in which a schema is ever made or changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, make_url, text

from codec_superb.data_manifests.files import locked
from codec_superb.server.database.session import make_engine

FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x0C0DEC5B
"""Number of the advisory lock that PostgreSQL gives to one upgrade at a time; ours alone in our own database."""


def upgrade(url: str, revision: str = "head", *, folder: Path = FOLDER) -> None:
    """Upgrade the database at ``url`` (SQLAlchemy's form), making all tables in an empty one.

    Processes that start at the same time do it one after another; the second one finds nothing left to do.
    """
    with schema_lock(url):
        command.upgrade(_config(folder, url=url), revision)


def upgrade_within(connection: Connection, revision: str = "head") -> None:
    """Upgrade as part of a transaction that is already open, so that it is committed with the rest or not at all.

    On SQLite the connection must have been opened without foreign keys: its tables are changed by copying.
    """
    command.upgrade(_config(FOLDER, connection=connection), revision)


def downgrade_within(connection: Connection, revision: str) -> None:
    """Downgrade as part of a transaction, as :func:`upgrade_within` upgrades."""
    command.downgrade(_config(FOLDER, connection=connection), revision)


def downgrade(url: str, revision: str, *, folder: Path = FOLDER) -> None:
    """Go back to an older schema; data of the newer one's own tables and columns is lost."""
    with schema_lock(url):
        command.downgrade(_config(folder, url=url), revision)


def make_revision(url: str, message: str, *, folder: Path = FOLDER) -> None:
    """Write a migration from the difference between the database at ``url`` and the models: for developers."""
    command.revision(_config(folder, url=url), message, autogenerate=True)


@cache
def head() -> str:
    """Return the newest revision that this program knows."""
    found = ScriptDirectory(str(FOLDER)).get_current_head()
    assert found is not None
    return found


def knows(revision: str) -> bool:
    """Return whether this program can make a schema of ``revision``."""
    return any(script.revision == revision for script in ScriptDirectory(str(FOLDER)).walk_revisions())


def current(connection: Connection) -> str | None:
    """Return the revision of the database's schema; None where there is none."""
    return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def schema_lock(url: str) -> Iterator[None]:
    """Hold the lock of the database's schema: an advisory one on PostgreSQL, a file beside that of SQLite."""
    where = make_url(url)
    if where.get_backend_name() == "sqlite":
        file = where.database
        with locked(Path(f"{file}.lock")) if file and file != ":memory:" else nullcontext():
            yield
        return
    engine = make_engine(url)
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("SELECT pg_advisory_lock(:number)"), {"number": _LOCK})
            yield
    finally:
        engine.dispose()  # ends the connection, and the lock with it


def _config(folder: Path, **attributes: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes.update(attributes)
    return config
