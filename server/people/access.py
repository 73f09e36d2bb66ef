"""Identify the sender of a request: an account by its API token, or an anonymous client."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Literal, get_args

from fastapi import BackgroundTasks, Depends, Request
from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Session, joinedload

from codec_superb.server.database.models import Token, now
from codec_superb.server.database.session import Database, database_of
from codec_superb.server.errors import Forbidden, Unauthenticated
from codec_superb.server.people.rate_counters import count_wrong_token

Scope = Literal["submit", "moderate", "metrics"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
ANONYMOUS = "anonymous"
_USE_IS_NEWS = timedelta(hours=1)
"""Resolution of ``last_used``, so that a frequently used token does not cause a write with every request."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The sender of a request."""

    account_id: int | None
    """None for an anonymous client."""
    name: str
    """Name of the account, or ``anonymous``, as in the audit log."""
    scopes: frozenset[str] = frozenset()
    token_id: int | None = None

    @property
    def anonymous(self) -> bool:
        """Whether the request came without a token or session."""
        return self.account_id is None

    def require(self, scope: Scope) -> None:
        """Raise Unauthenticated for an anonymous client, Forbidden for an account without the scope."""
        if self.anonymous:
            raise Unauthenticated(
                f"expected an API token of scope {scope!r} (Authorization: Bearer …), got none; a maintainer makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if scope not in self.scopes:
            raise Forbidden(
                f"expected a token of scope {scope!r}, got one of {', '.join(sorted(self.scopes)) or 'none'}"
            )


def secret_hash(secret: str) -> str:
    """Hash a token's secret; with 256 random bits it cannot be guessed, so a slow password hash is not needed."""
    # no salt and no slow hash: 256 random bits cannot be guessed, and the hash is looked up by an index
    return sha256(secret.encode()).hexdigest()


def identity_of_secret(session: Session, secret: str) -> Identity:
    """Return the owner of a token. Raises Unauthenticated for an unknown, expired or revoked token.

    For a secret of a request use :func:`identify`, which limits wrong ones.
    """
    return identity_of_token(_valid_token(session, Token.secret_sha256 == secret_hash(secret)))


def identify(request: Request, session: Session, secret: str) -> Identity:
    """Return the owner of a request's token, from its header or a form; a valid token always passes.

    Raises Unauthenticated for a wrong token, TooManyRequests where the address has sent too many of them.
    """
    secret = secret.strip()
    try:
        return identity_of_secret(session, secret)
    except Unauthenticated:
        # the answer to a guess: 256 random bits make it hopeless, the limit only spares log and database
        count_wrong_token(request, secret)
        raise


def valid_token(session: Session, token_id: int) -> Token:
    """Return a token by its id. Raises Unauthenticated for an unknown, expired or revoked token."""
    return _valid_token(session, Token.id == token_id)


def identity_of_token(token: Token) -> Identity:
    """Return the identity of the bearer of a valid token."""
    return Identity(token.account_id, token.account.name, frozenset(map(str, token.scopes)), token.id)


def _valid_token(session: Session, which: ColumnElement[bool]) -> Token:
    token = session.scalars(select(Token).where(which).options(joinedload(Token.account))).one_or_none()
    if token is None or token.revoked is not None or (token.expires is not None and token.expires <= now()):
        reason = "unknown" if token is None else "revoked" if token.revoked is not None else "expired"
        raise Unauthenticated(
            f"expected a valid API token, got one that is {reason}; ask a maintainer for a new one",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return token


def last_use_is_old(session: Session, token_id: int | None) -> bool:
    """Whether the stored last use of a token is older than an hour."""
    token = session.get_one(Token, token_id)
    return token.last_used is None or token.last_used < now() - _USE_IS_NEWS


def note_use(database: Database, token_id: int) -> None:
    """Store the current time as the last use of a token, unless one was stored within the last hour."""
    with database.transaction(write=True) as session:
        session.execute(
            update(Token)
            .where(Token.id == token_id, or_(Token.last_used.is_(None), Token.last_used < now() - _USE_IS_NEWS))
            .values(last_used=now())
        )


def _caller(request: Request, background: BackgroundTasks) -> Identity:
    """Identify the sender by the header ``Authorization: Bearer …`` (RFC 6750); anonymous without it.

    In a transaction of its own, which ends here: requests that hold one connection and wait for a second one can take
    all of the pool, and then wait for each other.
    """
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if not scheme:
        return Identity(None, ANONYMOUS)
    if scheme.lower() != "bearer" or not secret:
        raise Unauthenticated("expected the header Authorization: Bearer TOKEN", headers={"WWW-Authenticate": "Bearer"})
    with database_of(request).transaction() as session:
        caller = identify(request, session, secret)
        old = caller.token_id is not None and last_use_is_old(session, caller.token_id)
    if caller.token_id is not None and old:
        # After the answer: the endpoint's own transaction may hold SQLite's single write lock.
        background.add_task(note_use, database_of(request), caller.token_id)
    request.state.identity = caller  # for the log
    return caller


Caller = Annotated[Identity, Depends(_caller, scope="function")]
"""The sender of the request."""


def _moderating(caller: Caller) -> Identity:
    caller.require("moderate")
    return caller


ModeratingCaller = Annotated[Identity, Depends(_moderating, scope="function")]
"""A sender with scope ``moderate``; declare it before a WriteTransaction, so that others never begin one."""
