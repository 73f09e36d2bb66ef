"""Runs migrations for :mod:`codec_superb.server.database.migrate`: online only, one transaction each."""

from __future__ import annotations

from typing import Any

from alembic import context
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from codec_superb.server.database.models import Base
from codec_superb.server.database.session import make_engine


def _run() -> None:
    given: Connection | None = context.config.attributes.get("connection")
    if given is not None:
        _migrate(given)
        return
    engine = make_engine(context.config.attributes["url"])
    try:
        with engine.connect().execution_options(write=True) as connection:
            if engine.dialect.name == "sqlite":
                # alembic's batch mode drops a table and renames its copy, which must not affect rows that refer to it.
                # SQLite ignores this pragma within a transaction, which SQLAlchemy would begin: the driver is used.
                connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
            _migrate(connection)
    finally:
        engine.dispose()


def _migrate(connection: Connection) -> None:
    context.configure(
        connection,
        target_metadata=Base.metadata,
        render_as_batch=True,  # SQLite's ALTER TABLE is limited: alembic copies the table instead
        transaction_per_migration=True,
        transactional_ddl=True,  # also on SQLite, since _begin_sqlite begins transactions explicitly
        on_version_apply=_check_references,
    )
    with context.begin_transaction():
        context.run_migrations()


def _check_references(*_: Any, **facts: Any) -> None:
    """Fail a migration that leaves dangling references: foreign keys are off during migrations on SQLite."""
    ctx: MigrationContext = facts["ctx"]
    assert ctx.connection is not None
    if ctx.dialect.name != "sqlite":
        return
    broken = ctx.connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5)
    if broken:
        raise ValueError(f"expected every reference to lead to a row after the migration, got none for {broken}")


_run()
