"""``/login`` and ``/logout`` of moderators and submitters."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from codec_superb.server.database.session import WriteTransaction
from codec_superb.server.errors import ServerError
from codec_superb.server.people.access import identify
from codec_superb.server.people.csrf import FIELD, bind_login, issue_for_login, verify, verify_login
from codec_superb.server.people.forms import Form
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.people.sessions import (
    HOME,
    OWN_HOME,
    SIGNING_IN,
    SignedIn,
    close_session,
    open_session,
    safe_redirect_target,
    session_of,
)
from codec_superb.web.site.page import render

router = APIRouter(include_in_schema=False)


@router.get("/login")
def login_form(request: Request, next: str = HOME) -> Response:  # noqa: A002 - the usual name of the parameter
    """Show the login form; redirect who is logged in."""
    found = session_of(request)
    if found is not None:
        # 303: the browser continues with GET
        return RedirectResponse(safe_redirect_target(next) if found.home == HOME else OWN_HOME, 303)
    return _form_page(request, next)


@router.post("/login")
def login(request: Request, form: Form, session: WriteTransaction) -> Response:
    """Open a session for the bearer of a token of scope ``moderate`` or ``submit``, whose own submissions it shows."""
    verify_login(request, form.get(FIELD, ""))
    target = form.get("next", HOME)
    try:
        identity = identify(request, session, form.get("token", ""))
        if not identity.scopes & SIGNING_IN:
            identity.require("submit")
    except ServerError as error:
        return _form_page(request, target, error)
    moderates = "moderate" in identity.scopes
    response = RedirectResponse(safe_redirect_target(target) if moderates else OWN_HOME, 303)
    open_session(request, response, session, identity)
    bind_login(request, response, "")
    return response


@router.post("/logout")
def logout(request: Request, form: Form, signed_in: SignedIn, session: WriteTransaction) -> Response:
    """End the session."""
    verify(request, form.get(FIELD, ""))
    response = RedirectResponse("/login", 303)
    close_session(request, response, session, signed_in)
    return response


def _form_page(request: Request, target: str, error: ServerError | None = None) -> Response:
    """Render the login form with a new CSRF token, and with the reason where a login was refused."""
    token, nonce = issue_for_login(request)
    page = render(
        "login.html.j2",
        page_context_of(request, "Log in"),
        csrf=token,
        target=safe_redirect_target(target),
        error=error,
    )
    headers = {"Cache-Control": "no-store"} | ({} if error is None else error.headers)
    response = HTMLResponse(page, 200 if error is None else error.status, headers)
    bind_login(request, response, nonce)
    return response
