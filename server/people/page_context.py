"""The template context that every page needs: title, path, the logged-in account and the CSRF token."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request

from codec_superb import __version__
from codec_superb.server.people.csrf import issue
from codec_superb.server.people.sessions import session_of
from codec_superb.web.site.page import PageContext


def page_context_of(request: Request, title: str) -> PageContext:
    """Return the context of a page. That of a session is personal: such a page must not be cached for others."""
    session = session_of(request)
    if session is None:
        return public_page_context(request, title)
    return replace(
        public_page_context(request, title), account=session.identity.name, csrf=issue(request), home=session.home
    )


def public_page_context(request: Request, title: str) -> PageContext:
    """Return the context of a page that is the same for everybody."""
    runs = request.app.state.runs
    path = request.scope["path"]
    if runs is None:
        return PageContext(title=title, path=path, version=__version__)
    revision = str(request.app.state.board.current.revision)
    return PageContext(title=title, path=path, version=__version__, local=str(runs.place), revision=revision)
