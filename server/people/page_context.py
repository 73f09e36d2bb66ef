"""What every page needs to know about the request: who is logged in, which token its forms carry."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request

from codec_superb import __version__
from codec_superb.server.people.csrf import issue
from codec_superb.server.people.sessions import session_of
from codec_superb.web.site.page import PageContext


def page_context_of(request: Request, title: str) -> PageContext:
    """Describe the frame of a page. For a moderator it is personal: such a page must not be kept for others."""
    session = session_of(request)
    if session is None:
        return public_page_context(request, title)
    return replace(public_page_context(request, title), account=session.identity.name, csrf=issue(request))


def public_page_context(request: Request, title: str) -> PageContext:
    """Describe the frame of a page that is the same for everybody."""
    return PageContext(title=title, path=request.scope["path"], version=__version__)
