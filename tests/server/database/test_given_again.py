"""What one test leaves in a database of PostgreSQL no other test finds."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from support.server.board import make_submission
from support.server.postgres import PostgresServer

from codec_superb.server.database.session import Database


def rows_of(url: str) -> dict[str, Any]:
    """Return the rows of each table, and where each sequence stands."""
    with closing(Database(url)) as database, database.engine.connect() as connection:
        tables = connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars().all()
        places = connection.execute(text("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1")).all()
        rows = {name: connection.execute(text(f"SELECT * FROM {name}")).all() for name in sorted(tables)}
        return rows | {"sequences": places}


def test_a_database_that_is_given_again_is_as_a_new_one(postgres: PostgresServer) -> None:
    """Rows and numbers are those that the migrations made, and a connection that was left open is closed."""
    with postgres.database() as first, postgres.database() as other:
        before = rows_of(first)
        with closing(Database(first)) as database, database.transaction() as session:
            make_submission(session)
        assert rows_of(first) != before
        assert rows_of(other) == before
        place = make_url(first)
        left = psycopg.connect(host=str(place.query["host"]), user="tests", dbname=place.database)
        left.execute("LOCK TABLE submissions")
    with postgres.database() as again, postgres.database() as too:
        assert {first, other} == {again, too}
        assert rows_of(first) == before
        with pytest.raises(psycopg.OperationalError):
            left.execute("SELECT 1")
        left.close()


def test_a_schema_that_was_changed_is_not_given_again(postgres: PostgresServer) -> None:
    """Whatever was altered: the next test gets another database."""
    changes = (
        "ALTER TABLE submissions ADD COLUMN colour TEXT", "CREATE INDEX more ON submissions (submitter)",
        "ALTER TABLE submissions ALTER COLUMN status DROP NOT NULL", "DROP TABLE results",
        "CREATE TABLE more (number INT)", "ALTER TABLE submissions ADD CHECK (version < 9)",
    )  # fmt: skip
    seen = set()
    for change in changes:
        with postgres.database() as url:
            assert url not in seen, change
            seen.add(url)
            with closing(Database(url)) as database, database.engine.begin() as connection:
                connection.execute(text(change))
    with postgres.database() as url:
        assert url not in seen
