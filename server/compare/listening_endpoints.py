"""Blind listening: the test as a form, its key as the answer to the form, and the sounds without names."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.server.compare.listening import BlindTestKey, opened_address, parse_choices, shared_samples
from codec_superb.server.compare.repository import revision
from codec_superb.server.compare.service import cleaned_names, find_submissions
from codec_superb.server.database.models import PUBLIC, Submission
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.errors import BadRequest, NotFound
from codec_superb.server.http.file_answers import sound_in_parts
from codec_superb.server.http.single_flight import comparison_cache, listening_sound_cache
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.people.secret import key_of
from codec_superb.server.settings import Settings
from codec_superb.web.site.compare.page import compare_url
from codec_superb.web.site.compare.view import FEWEST, MOST
from codec_superb.web.site.page import render

router = APIRouter()

_FIELDS = 60
_SEED = r"^[A-Za-z0-9_-]{1,40}$"  # base64url (RFC 4648, section 5)
PATH = "/compare/listen"

Codecs = Annotated[list[str], Query(alias="codec", max_length=50)]


@router.get(PATH, include_in_schema=False)
def listening_test(
    request: Request,
    session: ReadTransaction,
    codec: Codecs,
    seed: Annotated[str | None, Query(pattern=_SEED)] = None,
) -> Response:
    """Show the test; without a seed one is drawn and put into the address, so that the test can be repeated."""
    if seed is None:
        return RedirectResponse(compare_url(cleaned_names(codec), PATH, seed=secrets.token_urlsafe(6)), 303)
    blind = _by_name(request, session, codec, seed)
    page = render(
        "listening.html.j2",
        page_context_of(request, "Blind listening"),
        test=blind.test(),
        compare=compare_url(cleaned_names(codec)),
        action=compare_url(cleaned_names(codec), PATH, seed=seed),
        again=compare_url(cleaned_names(codec), PATH),
    )
    return HTMLResponse(page, headers={"Cache-Control": "private, no-store"})


async def _fields(request: Request) -> Mapping[str, Any]:
    """Read the form in a dependency, which is async; the endpoint itself runs in a thread."""
    async with request.form(max_files=0, max_fields=_FIELDS, max_part_size=1000) as form:
        return dict(form)


@router.post(PATH, include_in_schema=False)
def reveal(
    request: Request,
    session: ReadTransaction,
    fields: Annotated[Mapping[str, Any], Depends(_fields)],
    codec: Codecs,
    seed: Annotated[str, Query(pattern=_SEED)],
) -> HTMLResponse:
    """Answer with the key and a count of the choices, which are kept nowhere."""
    blind = _by_name(request, session, codec, seed)
    page = render(
        "listening_key.html.j2",
        page_context_of(request, "Blind listening: the key"),
        revealed=blind.reveal(parse_choices(fields)),
        compare=compare_url(cleaned_names(codec)),
        same=compare_url(cleaned_names(codec), PATH, seed=seed),
        again=compare_url(cleaned_names(codec), PATH),
    )
    return HTMLResponse(page, headers={"Cache-Control": "private, no-store"})


@router.get(
    "/api/v1/listening/{address}.ogg", tags=["compare"], response_class=Response,
    responses={200: {"content": {"audio/ogg": {}}}, 206: {"description": "The part that was asked for"}},
)  # fmt: skip
def sound(request: Request, session: ReadTransaction, address: str) -> Response:
    """Answer with one version of a clip, as Ogg Opus without tags; addresses come from the page of the test."""
    ids, seed, clip, place = opened_address(key_of(request), address)
    statement = select(Submission).where(Submission.id.in_(ids), Submission.status.in_(PUBLIC))
    found = {submission.id: submission for submission in session.scalars(statement)}
    if set(found) != set(ids):
        raise NotFound("a codec of this test is not public any more; open the listening test again")
    settings: Settings = request.app.state.settings
    blind = _blind(request, session, [found[identity] for identity in ids], seed)
    hidden = blind.sound(clip, place)
    content = listening_sound_cache(request).get(hidden.key, partial(hidden.read, settings))
    # No entity tag, no name: both could be compared with the samples of a codec's page.
    headers = {"Cache-Control": "private, max-age=3600", "Content-Disposition": "inline"}
    return sound_in_parts(content, request.headers.get("range", ""), headers)


def _by_name(request: Request, session: Session, names: list[str], seed: str) -> BlindTestKey:
    """Find submissions and clips of the test. BadRequest for too few codecs, NotFound where no clip is shared."""
    chosen = cleaned_names(names)
    if len(chosen) < FEWEST:
        raise BadRequest(f"expected {FEWEST} to {MOST} codecs, got {len(chosen)}; choose them at /compare")
    blind = _blind(request, session, find_submissions(session, chosen), seed)
    if not blind.clips:
        raise NotFound("there is no clip that can be heard through all of these codecs; choose others")
    return blind


def _blind(request: Request, session: Session, submissions: list[Submission], seed: str) -> BlindTestKey:
    # which original is heard depends on everybody's results
    key = ("samples", revision(session), tuple(submission.id for submission in submissions))
    clips = comparison_cache(request).get(key, partial(shared_samples, session, submissions))
    return BlindTestKey(key_of(request), seed, submissions, clips)
