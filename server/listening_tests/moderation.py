"""The page on which moderators open, close and remove listening tests."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from codec_superb.server.database.listening import TEST_STATES
from codec_superb.server.database.session import ReadTransaction, WriteTransaction
from codec_superb.server.errors import BadRequest
from codec_superb.server.listening_tests import repository, summary
from codec_superb.server.listening_tests.service import STEPS, advance, found, remove
from codec_superb.server.people.csrf import FIELD, verify
from codec_superb.server.people.forms import Form
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.people.sessions import Moderator
from codec_superb.web.site.page import render

PATH = "/moderation/listening"
REMOVED = "removed"
router = APIRouter(prefix=PATH, include_in_schema=False)


@router.get("")
def tests(request: Request, _moderator: Moderator, session: ReadTransaction) -> Response:
    """List the tests of all states."""
    lines = [summary.line(session, test) for test in repository.in_states(session, TEST_STATES)]
    page = render("moderation_listening.html.j2", page_context_of(request, "Listening tests"), lines=lines, steps=STEPS)
    return HTMLResponse(page, headers={"Cache-Control": "private, no-store"})


@router.post("/{test_id}")
def step(
    request: Request,
    test_id: Annotated[str, Path(pattern=r"^[a-z0-9]{1,12}$")],
    form: Form,
    moderator: Moderator,
    session: WriteTransaction,
) -> Response:
    """Open, close or remove a test; one is removed with its sounds and answers, and only by its whole title."""
    verify(request, form.get(FIELD, ""))
    state = form.get("state", "")
    if state == REMOVED:
        if form.get("title", "").strip() != found(session, test_id).title:
            raise BadRequest("expected the title of the test that is to be removed, as it stands in the list")
        remove(session, test_id, actor=moderator.identity.name)
    elif state in STEPS.values():
        advance(session, test_id, state, actor=moderator.identity.name)
    else:
        raise BadRequest(f"expected a state among {', '.join(STEPS.values())} or {REMOVED}, got {state[:20]!r}")
    # RFC 9110, 15.4.4: 303 is followed by a GET, so that reloading the page sends no form again
    return RedirectResponse(PATH, 303)
