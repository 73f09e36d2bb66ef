"""Sessions of moderators and submitters: a signed cookie that names the token of the login.

The cookie holds no secret and grants nothing by itself: each request looks the token up, so that revoking it ends the
session at once. Logouts are recorded in the audit log under the session's name and looked up there.
Visitors who do not log in never get this cookie, and their requests cause no session queries.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import Response
from itsdangerous import URLSafeTimedSerializer
from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.server.database.models import AuditEntry
from codec_superb.server.database.session import database_of, reading_of
from codec_superb.server.errors import ServerError, Unauthenticated
from codec_superb.server.people.access import Identity, identity_of_token, valid_token
from codec_superb.server.people.audit import record
from codec_superb.server.people.secret import key_of
from codec_superb.server.people.stamps import CLOCKS, read_stamped
from codec_superb.server.settings import Settings

OPENED, CLOSED = "session.opened", "session.closed"
HOME, OWN_HOME = "/moderation", "/account"
"""First pages of moderators and of submitters."""
SIGNING_IN = frozenset({"moderate", "submit"})
"""Scopes any of which opens a session."""
_OWN_PAGE = re.compile(r"/moderation(/[a-z0-9]{1,12})?|/account")
_SALT = "session"


class LoginNeeded(Unauthenticated):
    """A page of an account was requested without a session; the answer redirects to the login form and back."""

    status = 303


@dataclass(frozen=True, slots=True)
class AccountSession:
    """A valid session of the request."""

    name: str
    """Random name, to which CSRF tokens are bound and which the audit log records."""
    identity: Identity

    @property
    def moderates(self) -> bool:
        """Whether it is a moderator's; submitters have sessions too."""
        return "moderate" in self.identity.scopes

    @property
    def home(self) -> str:
        """First page after the login."""
        return HOME if self.moderates else OWN_HOME


def cookie_name(settings: Settings) -> str:
    """Return the cookie's name; browsers accept the prefix ``__Host-`` only from this host, with Secure and Path=/."""
    return "__Host-session" if settings.https else "session"


def has_cookie(request: Request) -> bool:
    """Whether the request has a session cookie; its answer must then not come from the public cache.

    Only a correctly signed cookie counts, which is verified without the database, so that forged cookies cannot bypass
    the cache.
    """
    return _signed(request) is not None


def open_session(request: Request, response: Response, session: Session, identity: Identity) -> None:
    """Log ``identity`` in with a new session name each time, which prevents session fixation."""
    settings: Settings = request.app.state.settings
    name = secrets.token_urlsafe(18)
    record(session, identity.name, OPENED, name, token=identity.token_id)
    set_cookie(
        response, settings, cookie_name(settings), _serializer(request).dumps([identity.token_id, name]),
        seconds=round(3600 * settings.session_hours),
    )  # fmt: skip


def close_session(request: Request, response: Response, session: Session, current: AccountSession) -> None:
    """Log out: remove the cookie, and record the logout, which invalidates copies of it."""
    settings: Settings = request.app.state.settings
    record(session, current.identity.name, CLOSED, current.name)
    set_cookie(response, settings, cookie_name(settings), "", seconds=0)


def set_cookie(response: Response, settings: Settings, name: str, value: str, *, seconds: int) -> None:
    """Set a cookie with HttpOnly and SameSite=Strict; ``seconds`` 0 removes it."""
    # HttpOnly: no script reads it; Strict: no other site's link or form carries it
    response.set_cookie(name, value, max_age=seconds, path="/", secure=settings.https, httponly=True, samesite="strict")


def session_of(request: Request) -> AccountSession | None:
    """Return the valid session of a request, looked up once; None for everybody else.

    For code without a transaction of its own, such as the page context; that of the request is used where it reads.
    """
    if not has_cookie(request):
        return None
    if not hasattr(request.state, "session"):
        reading = reading_of(request)
        if reading is not None:
            request.state.session = _look_up(request, reading)
        else:
            with database_of(request).transaction() as session:
                request.state.session = _look_up(request, session)
    found: AccountSession | None = request.state.session
    return found


def moderates(request: Request) -> bool:
    """Whether the request has a moderator's session. A session alone says nothing: submitters have one too."""
    found = session_of(request)
    return found is not None and found.moderates


def _signed(request: Request) -> tuple[int, str, datetime] | None:
    """Return token id, session name and start time of the cookie; None for a forged or expired one."""
    settings: Settings = request.app.state.settings
    value = request.cookies.get(cookie_name(settings))
    if not value:
        return None
    read = read_stamped(_serializer(request), value, 3600 * settings.session_hours)
    if read is None:
        return None
    (token_id, name), opened = read
    return int(token_id), str(name), opened


def _look_up(request: Request, session: Session) -> AccountSession | None:
    signed = _signed(request)
    if signed is None:
        return None
    token_id, name, opened = signed
    try:
        # on every request: a revoked token ends its sessions at once
        identity = identity_of_token(valid_token(session, token_id))
    except Unauthenticated:
        return None
    if not identity.scopes & SIGNING_IN or _was_closed(session, name, opened):
        return None
    return AccountSession(name, identity)


def _was_closed(session: Session, name: str, opened: datetime) -> bool:
    """Whether the audit log has a logout; only entries since the session began are searched, by the index on time."""
    statement = select(AuditEntry.id).where(
        # the index on the time keeps this short; the minute allows for clocks of two machines
        AuditEntry.at >= opened - CLOCKS,
        AuditEntry.action == CLOSED,
        AuditEntry.subject == name,
    )
    return session.scalars(statement.limit(1)).first() is not None


def _serializer(request: Request) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(key_of(request), salt=_SALT)


def _signed_in(request: Request) -> AccountSession:
    """Return the session of an account; otherwise redirect GET requests to the login form and refuse others."""
    found = session_of(request)  # in a transaction that ends here, as that of a token
    if found is None:
        raise _refusal(request)
    request.state.identity = found.identity  # for the log
    return found


SignedIn = Annotated[AccountSession, Depends(_signed_in, scope="function")]
"""The session of a page of an account's own."""


def _moderator(signed_in: SignedIn) -> AccountSession:
    signed_in.identity.require("moderate")
    return signed_in


def safe_redirect_target(target: str) -> str:
    """Return the target of the redirect after a login: ``target`` if it is a page of sessions, else moderators' first.

    This prevents open redirects.
    """
    # a positive list: //evil.example begins with a slash too
    return target if _OWN_PAGE.fullmatch(target) else HOME


def _refusal(request: Request) -> ServerError:
    if request.method in {"GET", "HEAD"}:
        return LoginNeeded(
            "log in with your token", headers={"Location": f"/login?next={safe_redirect_target(request.scope['path'])}"}
        )
    return Unauthenticated("the session has ended: log in in another window, then send the form again from here")


Moderator = Annotated[AccountSession, Depends(_moderator, scope="function")]
"""The session of a page for moderators."""
