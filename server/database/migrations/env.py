"""Runs migrations for :mod:`codec_superb.server.database.migrate`: online only, one transaction each."""

from __future__ import annotations

from typing import Any

from alembic import context
from alembic.migration import MigrationContext, MigrationInfo
from alembic.script import Script
from sqlalchemy import Connection, update

from codec_superb.server.database.models import Base, SchemaSupport
from codec_superb.server.database.session import make_engine

_FIRST = "0011"
"""The schema from which on the table of supported programs is there."""


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
        on_version_apply=_after_each,
    )
    with context.begin_transaction():
        context.run_migrations()


def _after_each(*_: Any, **facts: Any) -> None:
    _check_references(facts["ctx"])
    _note_oldest(facts["ctx"], facts["step"])


def _note_oldest(ctx: MigrationContext, step: MigrationInfo) -> None:
    """Write down which older programs may run on the schema: those that its migration names, else none."""
    assert ctx.connection is not None
    for reached in (step.up_revision,) if step.is_upgrade else step.down_revisions:
        if isinstance(reached, Script) and reached.revision >= _FIRST:
            oldest = getattr(reached.module, "oldest", reached.revision)
            ctx.connection.execute(update(SchemaSupport).values(revision=reached.revision, oldest=oldest))


def _check_references(ctx: MigrationContext) -> None:
    """Fail a migration that leaves dangling references: foreign keys are off during migrations on SQLite."""
    assert ctx.connection is not None
    if ctx.dialect.name != "sqlite":
        return
    broken = ctx.connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5)
    if broken:
        raise ValueError(f"expected every reference to lead to a row after the migration, got none for {broken}")


_run()
