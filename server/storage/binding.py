"""Which database a vault belongs to: that one alone knows which of its files no submission names (decision 49)."""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from itertools import islice

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from codec_superb.server.database.models import DatabaseIdentity, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault import vault_of

NAME = re.compile(r"([0-9a-f]{64})\.zip")
"""Of an accepted file."""
_LOOKED_AT = 1_000
"""Files of a vault without an owner of which the database must know one: with each look of a probe at it."""
_ROW = 1


def drawn_identity() -> dict[str, object]:
    """Draw the name of a database, as the row that keeps it."""
    return {"id": _ROW, "identity": secrets.token_hex(32)}


def identity_of(database: Database) -> str:
    """Return the name of a database, which the first process draws."""
    with database.transaction() as session:  # each upload asks: no turn among those that write
        if (found := session.get(DatabaseIdentity, _ROW)) is not None:
            return found.identity
    with suppress(IntegrityError), database.transaction(write=True) as session:  # of two at once one draws it
        session.add(DatabaseIdentity(**drawn_identity()))
    with database.transaction() as session:
        return session.get_one(DatabaseIdentity, _ROW).identity


def is_own_vault(settings: Settings, database: Database) -> bool:
    """Whether the files are those of the database.

    Files without an owner become this database's, where there are none or it knows some of them: those of a program
    that named no owner. Raises Unavailable where they cannot be looked at.
    """
    vault, own = vault_of(settings), identity_of(database)
    owner = vault.owner()
    if not owner:
        found = {name.partition(".")[0] for name in islice(filter(NAME.fullmatch, vault.names(0.0)), _LOOKED_AT)}
        with database.transaction() as session:
            known = not found or any(sha256 in found for sha256 in session.scalars(select(Submission.file_sha256)))
        if known:
            vault.bind(own)
            owner = own
    return owner == own
