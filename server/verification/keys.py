"""Keys whose attestations the board believes: its own, kept in the storage folder, and those of maintainers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.pipeline.verification.keys import (
    KeyFault,
    create_key,
    fingerprint_of,
    load_key,
    public_key_of,
    read_public_key,
)
from codec_superb.server.database.models import VerificationKey, now
from codec_superb.server.errors import BadRequest, Conflict, Forbidden, NotFound
from codec_superb.server.people.audit import record
from codec_superb.server.people.tokens import check_name
from codec_superb.server.settings import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FILE = "verification_key"
"""The board's own private key, in the storage folder, readable by its owner alone."""
BOARD = "the board"
_SHORTEST = 8
"""Characters of a fingerprint by which a key may be named."""


def board_key(session: Session, settings: Settings) -> Ed25519PrivateKey:
    """Return the board's own key, which is made and registered when it is used first, in a writing transaction.

    Raises KeyFault for a file that is none, Forbidden for a key that was revoked.
    """
    file = settings.storage / FILE
    if not file.exists():
        try:
            create_key(file)
        except KeyFault:
            if not file.exists():  # else another process was first
                raise
    key = load_key(file)
    public = public_key_of(key)
    known = find(session, fingerprint_of(public))
    if known is None:
        add(session, BOARD, public, actor=BOARD)
    elif known.revoked is not None:
        raise Forbidden(f"the board's own key was revoked; move {FILE} away from the storage folder to make a new one")
    return key


def find(session: Session, fingerprint: str) -> VerificationKey | None:
    """Find a key, revoked or not."""
    return session.scalars(select(VerificationKey).where(VerificationKey.fingerprint == fingerprint)).one_or_none()


def all_keys(session: Session) -> Sequence[VerificationKey]:
    """List all keys, the oldest first."""
    return session.scalars(select(VerificationKey).order_by(VerificationKey.id)).all()


def add(session: Session, name: str, public_key: str, *, actor: str) -> VerificationKey:
    """Believe a key from now on. Raises BadRequest for what is none, Conflict for one that is known or was revoked."""
    check_name(name)
    try:
        public = read_public_key(public_key)
    except KeyFault as error:
        raise BadRequest(str(error)) from error
    fingerprint = fingerprint_of(public)
    known = find(session, fingerprint)
    if known is not None:
        state = "was revoked: a key that was ever open to others stays revoked" if known.revoked else "is known already"
        raise Conflict(f"the key {fingerprint[:16]}… of {known.name} {state}")
    made = VerificationKey(fingerprint=fingerprint, name=name, public_key=public, revoked=None)
    session.add(made)
    session.flush()
    record(session, actor, "key.added", fingerprint, name=name)
    return made


def revoke(session: Session, fingerprint: str, *, actor: str) -> VerificationKey:
    """Believe a key no longer; what it verified before stays until somebody decides otherwise.

    Raises NotFound where no key, or more than one, begins with these letters; Conflict for one that is revoked already.
    """
    found = [key for key in all_keys(session) if key.fingerprint.startswith(fingerprint)]
    if len(fingerprint) < _SHORTEST or len(found) != 1:
        raise NotFound(
            f"expected the fingerprint of one key, or its first {_SHORTEST} letters or more, got {fingerprint[:70]!r}, "
            f"which fits {len(found)}; `codec-superb admin key list` shows them"
        )
    (key,) = found
    if key.revoked is not None:
        raise Conflict(f"the key {key.fingerprint[:16]}… of {key.name} is revoked already")
    key.revoked = now()
    record(session, actor, "key.revoked", key.fingerprint, name=key.name)
    return key
