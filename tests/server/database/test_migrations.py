"""The migrations make exactly the tables that the models describe, and can be undone with data in them."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select

from codec_superb.server.database.migrate import downgrade, upgrade
from codec_superb.server.database.models import Account, Base, Revision
from codec_superb.server.database.session import Database, changed


def test_the_schema_is_that_of_the_models(database: Database) -> None:
    """A migrated database differs in nothing from the models."""
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_downgrade_and_upgrade_with_data(database: Database, database_url: str) -> None:
    """Going down to nothing with rows in the tables and up again leaves an empty, working schema."""
    with database.transaction(write=True) as session:
        session.add(Account(name="someone"))
    downgrade(database_url, "base")
    assert set(inspect(database.engine).get_table_names()) <= {"alembic_version"}
    upgrade(database_url)
    with database.transaction() as session:
        assert session.scalars(select(Account)).all() == []


def test_the_revision_counts(database: Database) -> None:
    """Every change that the public sees counts the revision up by one."""
    for _ in range(2):
        with database.transaction(write=True) as session:
            changed(session)
    with database.transaction() as session:
        assert session.scalars(select(Revision.number)).one() == 2
