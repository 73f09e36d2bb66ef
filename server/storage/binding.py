"""Which database a vault belongs to: that one alone knows which of its files no submission names (decision 49)."""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from codec_superb.server.database.models import DatabaseIdentity, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault import Vault, vault_of

NAME = re.compile(r"([0-9a-f]{64})\.zip")
"""Of an accepted file."""
_LOOKED_AT = 1_000
"""Files of a vault without an owner of which the database must know one: with each look of a probe at it."""
_ASKED_FOR = 20
"""Files that the database needs of which one must be there: in a vault that has most of them the first or second is."""
_ROW = 1
_SETTINGS = "CODEC_SUPERB_SERVER_DATABASE, STORAGE and VAULT"


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


class Fault(NamedTuple):
    """Why files are not a database's, and what to do."""

    got: str
    how_to_fix: str


FOREIGN = Fault(
    "another's",
    f"the database or the storage is another board's: give the right {_SETTINGS}; where they are right, as after an "
    "older dump, restart without the file or object database_id beside the files",
)
ABSENT = Fault(
    f"none of the first {_ASKED_FOR} that are needed, or none that may be read",
    f"the folder submissions of the storage is not mounted, another one or another user's, or lost its files: give the "
    f"right {_SETTINGS}, the files to the user of the service, put them back from a backup, or withdraw the "
    "submissions whose files are lost",
)


def fault_of_vault(settings: Settings, database: Database) -> Fault | None:
    """Return why the files are not those of the database; None where they are.

    Files without an owner become this database's, where there are none or it knows some of them: those of a program
    that named no owner. Raises Unavailable where they cannot be looked at.
    """
    vault, own = vault_of(settings), identity_of(database)
    owner = vault.owner()
    if owner not in {"", own} or (not owner and not _known(vault, database)):
        return FOREIGN
    # a folder that is not mounted, or another one, is empty or has others, whatever its owner
    if not _has_some(vault, settings, database):
        return ABSENT
    if not owner:
        vault.bind(own)
    return None


def _known(vault: Vault, database: Database) -> bool:
    """Whether the database knows some of the files, or there are none."""
    found = {name.partition(".")[0] for name in islice(filter(NAME.fullmatch, vault.names(0.0)), _LOOKED_AT)}
    with database.transaction() as session:
        return not found or any(sha256 in found for sha256 in session.scalars(select(Submission.file_sha256)))


def _has_some(vault: Vault, settings: Settings, database: Database) -> bool:
    """Whether one of a few files is there that the database needs, or it needs none, as of withdrawn submissions."""
    # by their hashes: at random
    needed = select(Submission.file_sha256).where(Submission.status != "withdrawn").order_by(Submission.file_sha256)
    with database.transaction() as session:
        wanted = session.scalars(needed.limit(_ASKED_FOR)).all()
    return not wanted or any(vault.has(sha256) and _may_be_read(settings, sha256) for sha256 in wanted)


def _may_be_read(settings: Settings, sha256: str) -> bool:
    """Whether a file of the folder is this user's: after a restore by root it may not be. A store asks for no user."""
    if settings.vault is not None:
        return True
    try:
        (settings.files / f"{sha256}.zip").open("rb").close()
    except OSError:
        return False
    return True
