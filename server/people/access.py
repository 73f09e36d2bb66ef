"""Who sends a request: an account by its API token, or nobody in particular."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal

from fastapi import Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from codec_superb.server.database.models import Token, now
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.errors import Forbidden, Unauthenticated

Scope = Literal["submit", "moderate", "metrics"]
ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sends a request."""

    account_id: int | None
    """None for nobody in particular."""
    name: str
    """Name of the account, or ``anonymous``: what the audit log says."""
    scopes: frozenset[str] = frozenset()
    token_id: int | None = None

    @property
    def anonymous(self) -> bool:
        """Whether the request came without a token or session."""
        return self.account_id is None

    def require(self, scope: Scope) -> None:
        """Raise Unauthenticated for nobody, Forbidden for an account without the scope."""
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
    """Hash a token's secret. It has 256 random bits, so one round of SHA-256 cannot be searched."""
    return sha256(secret.encode()).hexdigest()


def identity_of_secret(session: Session, secret: str) -> Identity:
    """Find whose token it is. Raises Unauthenticated for one that is unknown, expired or revoked."""
    statement = select(Token).where(Token.secret_sha256 == secret_hash(secret)).options(joinedload(Token.account))
    token = session.scalars(statement).one_or_none()
    if token is None or token.revoked is not None or (token.expires is not None and token.expires <= now()):
        reason = "unknown" if token is None else "revoked" if token.revoked is not None else "expired"
        raise Unauthenticated(
            f"expected a valid API token, got one that is {reason}; ask a maintainer for a new one",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return Identity(token.account_id, token.account.name, frozenset(map(str, token.scopes)), token.id)


def _caller(request: Request, session: ReadTransaction) -> Identity:
    """Identify the sender by the header ``Authorization: Bearer …``; nobody without it."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if not scheme:
        return Identity(None, ANONYMOUS)
    if scheme.lower() != "bearer" or not secret:
        raise Unauthenticated("expected the header Authorization: Bearer TOKEN", headers={"WWW-Authenticate": "Bearer"})
    return identity_of_secret(session, secret.strip())


Caller = Annotated[Identity, Depends(_caller, scope="function")]
"""Who sends the request."""
