"""CSRF tokens of forms: signed and bound to a session.

A moderator's form is bound to the session. The login form, which has no session yet, is bound to a random cookie that
its page sets, which prevents login CSRF (logging a victim in to the attacker's account).
"""

from __future__ import annotations

import secrets

from fastapi import Request
from fastapi.responses import Response
from itsdangerous import URLSafeTimedSerializer

from codec_superb.server.errors import Forbidden
from codec_superb.server.people.secret import key_of
from codec_superb.server.people.sessions import session_of, set_cookie
from codec_superb.server.people.stamps import read_stamped
from codec_superb.server.settings import Settings

FIELD = "csrf"
"""Name of the hidden form field."""
_FORM_SECONDS = 3600
"""Seconds for which a login form is valid."""


def issue(request: Request) -> str | None:
    """Return the token for the forms of a page; None for visitors, whose forms use no cookie for authentication."""
    session = session_of(request)
    return None if session is None else _serializer(request, "form").dumps(session.name)


def verify(request: Request, value: str) -> None:
    """Raise Forbidden unless ``value`` was issued to the session of this request."""
    session = session_of(request)
    settings: Settings = request.app.state.settings
    seconds = round(3600 * settings.session_hours)
    if session is None or _bound_to(request, "form", value, seconds) != session.name:
        raise _refusal()


def issue_for_login(request: Request) -> tuple[str, str]:
    """Return the token for a login form, and the nonce that :func:`bind_login` sets as a cookie."""
    nonce = secrets.token_urlsafe(18)
    # a form of a visitor without a session is bound to a cookie of its own (login CSRF)
    return _serializer(request, "login").dumps(nonce), nonce


def bind_login(request: Request, response: Response, nonce: str) -> None:
    """Set the cookie that a login form's token is bound to; '' removes it."""
    settings: Settings = request.app.state.settings
    set_cookie(response, settings, _cookie(settings), nonce, seconds=_FORM_SECONDS if nonce else 0)


def verify_login(request: Request, value: str) -> None:
    """Raise Forbidden unless ``value`` was issued together with the cookie of this request, within the hour."""
    nonce = request.cookies.get(_cookie(request.app.state.settings))
    if not nonce or _bound_to(request, "login", value, _FORM_SECONDS) != nonce:
        raise _refusal()


def _bound_to(request: Request, purpose: str, value: str, seconds: int) -> object:
    read = read_stamped(_serializer(request, purpose), value, seconds)
    return None if read is None else read[0]


def _serializer(request: Request, purpose: str) -> URLSafeTimedSerializer:
    # another salt makes another key: a token of one purpose is none of another
    return URLSafeTimedSerializer(key_of(request), salt=f"csrf {purpose}")


def _cookie(settings: Settings) -> str:
    # the prefix (RFC 6265bis) lets browsers refuse it from a subdomain or over HTTP
    return "__Host-login" if settings.https else "login"


def _refusal() -> Forbidden:
    return Forbidden(
        "expected the token of a form of this site and session; the form was open for too long, the session changed, "
        "or another site sent it: load the page again and send it from there"
    )
