"""Transactions of the service and what they wait for."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from codec_superb.server.database import session as session_module
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.models import Revision
from codec_superb.server.database.session import Database


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_nobody_waits_for_a_stuck_transaction(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer gives up behind what another one holds, and readers have its connection; SQLite has such a time too."""
    monkeypatch.setattr(session_module, "LOCK_SECONDS", 1)
    database = Database(database_url)
    try:
        with database.transaction(write=True) as stuck:
            stuck.execute(text("UPDATE revision SET number = number"))
            with pytest.raises(OperationalError, match="lock timeout"), database.transaction(write=True) as other:
                other.execute(text("UPDATE revision SET number = number"))
            with database.transaction() as reader:
                assert reader.scalars(select(Revision.number)).one() >= 0
    finally:
        database.close()


def test_readers_of_sqlite_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """As many read at once as threads answer; SQLAlchemy's own pool would keep the sixteenth waiting for 30 s."""
    url = f"sqlite:///{tmp_path / 'board.sqlite'}"
    upgrade(url)
    database = Database(url)
    with ExitStack() as open_ones:
        for _ in range(40):
            session = open_ones.enter_context(database.transaction())
            assert session.scalar(select(Revision.number)) is not None
    database.close()
