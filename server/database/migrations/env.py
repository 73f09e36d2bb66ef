"""Runs migrations for :mod:`codec_superb.server.database.migrate`: online only, one transaction each."""

from __future__ import annotations

from alembic import context

from codec_superb.server.database.models import Base
from codec_superb.server.database.session import make_engine


def _run() -> None:
    engine = make_engine(context.config.attributes["url"])
    with engine.connect() as connection:
        # SQLite cannot alter most of a table in place: alembic then copies it ("batch").
        context.configure(
            connection, target_metadata=Base.metadata, render_as_batch=True, transaction_per_migration=True
        )
        with context.begin_transaction():
            context.run_migrations()
    engine.dispose()


_run()
