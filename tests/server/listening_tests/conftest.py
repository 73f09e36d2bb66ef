"""A listening test that is open."""

from __future__ import annotations

import pytest
from support.server.listening import add_test

from codec_superb.server.database.session import Database


@pytest.fixture
def test_id(database: Database) -> str:
    """Open a MUSHRA test of two clips that asks for the age."""
    with database.transaction(write=True) as session:
        return add_test(session, "mushra", clips=2, ask=["age"], participants=5)
