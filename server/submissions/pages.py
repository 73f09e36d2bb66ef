"""``/submissions/{id}`` and the difference between two versions, for people."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.moderation.service import REASON_LIMIT
from codec_superb.server.names.standing import is_behind_another
from codec_superb.server.people.limits import CountedComputation
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.people.sessions import session_of
from codec_superb.server.storage.custom_results import custom_results
from codec_superb.server.storage.custom_tasks import custom_tasks
from codec_superb.server.submissions import repository, service
from codec_superb.server.submissions.endpoints import Identity
from codec_superb.server.verification.attestations import attestations_of, not_compared
from codec_superb.web.site.page import render

router = APIRouter(include_in_schema=False)


@router.get("/submissions/{identity}", response_class=HTMLResponse)
def submission_page(
    request: Request, _counted: CountedComputation, session: ReadTransaction, identity: Identity
) -> HTMLResponse:
    """Show one submission: facts, results, clip rows, provenance, history."""
    found = service.find(session, identity)
    previous = repository.previous_public(session, found)
    signed_in = session_of(request)
    page = render(
        "submission.html.j2",
        page_context_of(request, f"{found.codec.name}, version {found.version}"),
        it=service.detail(session, identity),
        custom=custom_results(found.document),
        tasks=custom_tasks(found.document),
        attested=found.status == "verified" and bool(attestations_of(session, found.id)),
        own_word=not_compared(session, found) if found.status == "verified" else [],
        behind=is_behind_another(found),
        own=signed_in is not None and signed_in.identity.account_id == found.account_id,
        reason_limit=REASON_LIMIT,
        previous=previous.id if previous else None,
        history=service.history(session, found.codec.name),
    )
    return HTMLResponse(page)


@router.get("/submissions/{old}/diff/{new}", response_class=HTMLResponse)
def diff_page(
    request: Request,
    _counted: CountedComputation,
    session: ReadTransaction,
    old: Identity,
    new: Identity,
) -> HTMLResponse:
    """Show what changed between two versions."""
    found = service.diff(session, old, new)
    title = f"{found.codec}: version {found.old.version} to {found.new.version}"
    return HTMLResponse(render("submission_diff.html.j2", page_context_of(request, title), it=found))
