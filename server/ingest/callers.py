"""Identifies the sender of an upload by token, in a transaction that ends before the file is received.

A session cookie is not accepted: a form on another site could send it (cross-site request forgery).
"""

from __future__ import annotations

from fastapi import Request

from codec_superb.server.database.session import database_of
from codec_superb.server.errors import Unauthenticated
from codec_superb.server.people.access import ANONYMOUS, Identity, identify, last_use_is_old, note_use
from codec_superb.server.people.limits import check_limit


def caller_of(request: Request) -> Identity:
    """Identify the sender by ``Authorization: Bearer …``. Raises Unauthenticated for a token that is not valid."""
    # RFC 6750, 2.1: Authorization: Bearer and the token
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if not scheme:
        return Identity(None, ANONYMOUS)
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated("expected the header Authorization: Bearer TOKEN", headers={"WWW-Authenticate": "Bearer"})
    return bearer(request, secret)


def bearer(request: Request, secret: str) -> Identity:
    """Identify the owner of a token; anonymous for an empty one. A wrong one counts against the address."""
    if not secret.strip():
        return Identity(None, ANONYMOUS)
    database = database_of(request)
    with database.transaction() as session:
        caller = identify(request, session, secret)
        news = last_use_is_old(session, caller.token_id)
    if news and caller.token_id is not None:
        note_use(database, caller.token_id)
    request.state.identity = caller  # for the log
    return caller


def count_upload(request: Request, caller: Identity) -> None:
    """Count the upload against the limit of its token or address. Raises TooManyRequests."""
    check_limit(request, caller, "uploads")
