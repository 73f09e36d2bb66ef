"""The pages of moderators: the queue, one submission with its warnings and decisions, names, the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from codec_superb.server.database.models import WAITING, Submission
from codec_superb.server.database.session import ReadTransaction, WriteTransaction, database_of
from codec_superb.server.errors import BadRequest, NotFound
from codec_superb.server.http.file_answers import sound_answer
from codec_superb.server.moderation import repository
from codec_superb.server.moderation.endpoints import SubmissionId
from codec_superb.server.moderation.kept_warnings import cut, kept
from codec_superb.server.moderation.plausibility import all_warnings_for
from codec_superb.server.moderation.service import (
    DECISIONS,
    KINDS,
    REASON_LIMIT,
    choices,
    decided,
    needs_reason,
    transfer,
)
from codec_superb.server.moderation.view import submission_view
from codec_superb.server.moderation.warning_groups import grouped
from codec_superb.server.people.csrf import FIELD, verify
from codec_superb.server.people.forms import Form
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.people.sessions import Moderator
from codec_superb.server.storage.samples import Side, sample, stored_sound
from codec_superb.web.site.board.paging import page_links
from codec_superb.web.site.page import render

router = APIRouter(prefix="/moderation", include_in_schema=False)
QUEUE_PAGE = 50
RECENT = 20
AUDIT_PAGE = 100
_OWN = {"Cache-Control": "private, no-store"}
_LAST_ID = 2**31 - 1


@router.get("")
def queue(
    request: Request, _moderator: Moderator, session: ReadTransaction, page: Annotated[int, Query(ge=1, le=10_000)] = 1
) -> Response:
    """Show submissions that wait, the oldest first, what is public behind another's word, and recent decisions."""
    waiting = repository.count_of_status(session, WAITING)
    pending = repository.of_status(
        session, WAITING, limit=QUEUE_PAGE, offset=(page - 1) * QUEUE_PAGE, oldest_first=True
    )
    recent = repository.recently_decided(session, RECENT)
    return _page(
        request, "moderation.html.j2", "Moderation", pending=pending, recent=recent, waiting=waiting,
        behind=repository.behind_others(session, RECENT), kinds=repository.kinds_of_warnings(session, pending),
        links=page_links(page, -(-waiting // QUEUE_PAGE), lambda number: f"/moderation?page={number}"),
    )  # fmt: skip


@router.get("/audit")
def audit(
    request: Request,
    _moderator: Moderator,
    session: ReadTransaction,
    before: Annotated[int | None, Query(ge=1, le=_LAST_ID)] = None,
) -> Response:
    """Show the audit log, the newest entries first."""
    entries = repository.audit_entries(session, AUDIT_PAGE, before)
    return _page(request, "moderation_audit.html.j2", "Audit log", entries=entries, more=len(entries) == AUDIT_PAGE)


@router.get("/names")
def names(request: Request, _moderator: Moderator, session: ReadTransaction) -> Response:
    """Show whose the families are, and a form that gives the name of a codec or a family to another account."""
    return _page(request, "moderation_names.html.j2", "Names", families=repository.families(session), done="")


@router.post("/names")
def transfer_by_form(request: Request, form: Form, moderator: Moderator, session: WriteTransaction) -> Response:
    """Give a name to another account, and say so."""
    verify(request, form.get(FIELD, ""))
    kind = next((known for known in KINDS if known == form.get("kind")), None)
    if kind is None:
        raise BadRequest(f"expected a name of {' or '.join(KINDS)}, got {form.get('kind', '')[:80]!r}")
    name, account = form.get("name", "").strip(), form.get("account", "").strip()
    before = transfer(session, kind, name, account, actor=moderator.identity.name)
    done = f"The {kind} {name} belongs to {account} now; before, {before or 'nobody owned it'}."
    return _page(request, "moderation_names.html.j2", "Names", families=repository.families(session), done=done)


@router.get("/{submission_id}")
def show(request: Request, submission_id: SubmissionId, _moderator: Moderator, session: ReadTransaction) -> Response:
    """Show one submission of any status, with current warnings and the possible decisions."""
    submission = repository.find_whole(session, submission_id)
    if submission is None:
        raise NotFound(f"no submission has the id {submission_id!r}")
    offered = [(decision, needs_reason(submission.status, decision)) for decision in choices(submission.status)]
    return _page(
        request, "moderation_submission.html.j2", f"{submission.codec.name}, version {submission.version}",
        submission=submission, view=submission_view(submission), groups=grouped(_found(session, submission)),
        notes=grouped([{"kind": "note", "text": note} for note in submission.notes]),
        history=repository.entries_about(session, submission_id), offered=offered, reason_limit=REASON_LIMIT,
    )  # fmt: skip


def _found(session: Session, submission: Submission) -> Sequence[Mapping[str, Any]]:
    """Return today's warnings, and before them those of its arrival that are no longer found: they held it."""
    found = all_warnings_for(session, submission.id)
    today = kept(found)
    known = {_said(each) for each in (*found, *today)}
    came: list[Any] = [{**each, "text": cut(each["text"])} for each in submission.warnings]
    then = kept([each for each in came if _said(each) not in known])
    return [*({**each, "text": f"{each['text']} (found when it came)"} for each in then), *today]


def _said(warning: Mapping[str, Any]) -> tuple[str, str, str]:
    return warning["kind"], warning["where"], warning["text"]


@router.post("/{submission_id}")
def decide_by_form(request: Request, submission_id: SubmissionId, form: Form, moderator: Moderator) -> Response:
    """Make a decision and redirect to the submission's page."""
    verify(request, form.get(FIELD, ""))
    decision = next((known for known in DECISIONS if known == form.get("decision")), None)
    if decision is None:
        raise BadRequest(f"expected a decision among {', '.join(DECISIONS)}, got {form.get('decision', '')[:80]!r}")
    with decided(
        database_of(request), request.app.state.settings, submission_id, decision, form.get("reason", ""),
        actor=moderator.identity.name, seen=form.get("seen"),
    ):  # fmt: skip
        pass
    return RedirectResponse(f"/moderation/{submission_id}", 303)


@router.get("/{submission_id}/samples/{number}/{side}.ogg")
def listen(
    request: Request,
    submission_id: SubmissionId,
    number: Annotated[int, Path(ge=0, le=1000)],
    side: Side,
    _moderator: Moderator,
    session: ReadTransaction,
) -> Response:
    """Answer with one listening sample of a submission of any status; the API serves only public ones."""
    submission = repository.find_whole(session, submission_id)
    if submission is None:
        raise NotFound(f"no submission has the id {submission_id!r}")
    content = stored_sound(request.app.state.settings, submission, sample(submission, number), side)
    return sound_answer(request, content, _OWN["Cache-Control"])


def _page(request: Request, template: str, title: str, **context: object) -> Response:
    return HTMLResponse(render(template, page_context_of(request, title), **context), headers=_OWN)
