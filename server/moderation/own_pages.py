"""``/account``: what a logged-in account has sent, in every status, and a button to take it back."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from codec_superb.server.database.session import ReadTransaction, WriteTransaction
from codec_superb.server.moderation import repository
from codec_superb.server.moderation.endpoints import SubmissionId
from codec_superb.server.moderation.service import REASON_LIMIT, withdraw_own
from codec_superb.server.people.csrf import FIELD, verify
from codec_superb.server.people.forms import Form
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.people.sessions import SignedIn
from codec_superb.web.site.page import render

router = APIRouter(prefix="/account", include_in_schema=False)
MOST = 200
"""Submissions on the page, the newest; the API knows each."""


@router.get("")
def own_submissions(request: Request, signed_in: SignedIn, session: ReadTransaction) -> Response:
    """List the account's submissions, newest first."""
    account_id = signed_in.identity.account_id
    found = [] if account_id is None else repository.of_account(session, account_id, limit=MOST)
    page = render(
        "account.html.j2", page_context_of(request, "Your submissions"), found=found, most=MOST,
        kinds=repository.kinds_of_warnings(session, found), reason_limit=REASON_LIMIT,
    )  # fmt: skip
    return HTMLResponse(page, headers={"Cache-Control": "private, no-store"})


@router.post("/{submission_id}/withdraw")
def withdraw_by_form(
    request: Request, submission_id: SubmissionId, form: Form, signed_in: SignedIn, session: WriteTransaction
) -> Response:
    """Take one of them back and show the list."""
    verify(request, form.get(FIELD, ""))
    withdraw_own(session, submission_id, form.get("reason", ""), signed_in.identity)
    # RFC 9110, 15.4.4: 303 is followed by a GET, so that reloading the page sends no form again
    return RedirectResponse("/account", 303)
