"""API tokens: created, listed and revoked by maintainers. A secret is shown once; only its hash is stored."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from codec_superb.pipeline.submission.titles import title_fault
from codec_superb.server.database.models import Account, Token, now
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.people.access import SCOPES, secret_hash
from codec_superb.server.people.audit import record
from codec_superb.server.people.rate_counters import MARK, PREFIX

NAME_LIMIT = 200
DAYS_LIMIT = 3650
_LARGEST_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TokenRow:
    """The public facts of a token."""

    id: int
    account: str
    prefix: str
    scopes: tuple[str, ...]
    state: str
    """``valid``, ``expired`` or ``revoked``."""
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    last_used: datetime | None
    """Exact to one hour."""


def create(
    session: Session, name: str, scopes: Sequence[str], *, actor: str, expires_days: int | None = None
) -> tuple[TokenRow, str]:
    """Create a token of the account ``name``, which is created if necessary; return it with its secret.

    Raises BadRequest for an invalid name, scope or number of days.
    """
    _check(name, scopes, expires_days)
    # 256 bits; the mark lets scanners of repositories find leaked tokens
    secret = MARK + secrets.token_urlsafe(32)
    token = Token(
        account=account_of(session, name),
        prefix=secret[:PREFIX],
        secret_sha256=secret_hash(secret),
        scopes=sorted(set(scopes)),
        expires=None if expires_days is None else now() + timedelta(days=expires_days),
    )
    session.add(token)
    session.flush()
    record(
        session, actor, "token.created", token.prefix, account=name, scopes=token.scopes, expires=_text(token.expires)
    )
    return _row(token), secret


def revoke(session: Session, which: str, *, actor: str) -> TokenRow:
    """Revoke a token, named by id or prefix. Sessions that were opened with it end too.

    Raises NotFound for no match, Conflict for several matches and for a token that was revoked before.
    """
    found = _find(session, which)
    if not found:
        raise NotFound(f"no token is {which!r}; `codec-superb admin token list` shows all")
    if len(found) > 1:
        raise Conflict(f"{len(found)} tokens begin with {which!r}; give the id: {', '.join(str(t.id) for t in found)}")
    token = found[0]
    if token.revoked is not None:
        raise Conflict(f"token {token.prefix}… was revoked at {_text(token.revoked)}")
    token.revoked = now()
    record(session, actor, "token.revoked", token.prefix, account=token.account.name)
    return _row(token)


def all_tokens(session: Session) -> list[TokenRow]:
    """List all tokens in order of creation."""
    return [
        _row(token) for token in session.scalars(select(Token).options(joinedload(Token.account)).order_by(Token.id))
    ]


def account_of(session: Session, name: str) -> Account:
    """Return the account of a name, created if necessary; concurrent calls get the same account."""
    statement = select(Account).where(Account.name == name)
    found = session.scalars(statement).one_or_none()
    if found is None:
        try:
            with session.begin_nested():
                found = Account(name=name)
                session.add(found)
        except IntegrityError:
            found = session.scalars(statement).one()
    return found


def find_account(session: Session, name: str) -> Account | None:
    """Return the account of a name; None where there is none."""
    # PostgreSQL's text has no NUL
    return None if "\0" in name else session.scalars(select(Account).where(Account.name == name)).one_or_none()


def check_name(name: str) -> None:
    """Raise BadRequest for an invalid account name: by the rule of titles, and longer."""
    if title_fault(name, NAME_LIMIT) or name == "anonymous":
        raise BadRequest(
            f"expected a name of 1 to {NAME_LIMIT} visible characters that is not 'anonymous', got {name[:80]!r}"
        )


def _check(name: str, scopes: Sequence[str], expires_days: int | None) -> None:
    check_name(name)
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise BadRequest(f"expected scopes among {', '.join(SCOPES)}, got {', '.join(map(repr, unknown)) or 'none'}")
    if expires_days is not None and not 1 <= expires_days <= DAYS_LIMIT:
        raise BadRequest(f"expected 1 to {DAYS_LIMIT} days, got {expires_days}; without the option it never expires")


def _find(session: Session, which: str) -> Sequence[Token]:
    if which.isascii() and which.isdigit():
        # PostgreSQL raises for a number beyond its INTEGER
        chosen = Token.id == min(int(which[:12]), _LARGEST_ID)
    elif which.startswith(MARK) and len(which) > len(MARK):
        # % and _ are wildcards of LIKE
        chosen = Token.prefix.startswith(which[:PREFIX], autoescape=True)
    else:
        return ()
    return session.scalars(select(Token).where(chosen).options(joinedload(Token.account)).order_by(Token.id)).all()


def _row(token: Token) -> TokenRow:
    over = token.expires is not None and token.expires <= now()
    return TokenRow(
        id=token.id, account=token.account.name, prefix=token.prefix, scopes=tuple(map(str, token.scopes)),
        state="revoked" if token.revoked is not None else "expired" if over else "valid",
        created=token.created, expires=token.expires, revoked=token.revoked, last_used=token.last_used,
    )  # fmt: skip


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")
