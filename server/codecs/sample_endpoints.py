"""Endpoints of listening samples and their spectrograms, read from the stored submission files."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from codec_superb.server.codecs import repository
from codec_superb.server.codecs.codec_caches import codec_caches
from codec_superb.server.codecs.listening import Picture, pictures
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.errors import NotFound
from codec_superb.server.http.file_answers import answer, cache_control_of, sound_answer
from codec_superb.server.people.access import Caller, Identity
from codec_superb.server.people.limits import check_limit
from codec_superb.server.people.sessions import Moderator
from codec_superb.server.storage.samples import Side, sample, stored_sound

router = APIRouter(prefix="/api/v1/submissions", tags=["samples"])

moderation_router = APIRouter(prefix="/moderation")

SubmissionId = Annotated[str, Path(pattern=r"^[a-z0-9]{1,12}$", description="Id of a submission.")]
Number = Annotated[int, Path(ge=0, le=10**6, description="Number of the sample, counted from 0.")]
_FILES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"audio/ogg": {}}},
    206: {"description": "The part that was asked for"},
}
_PICTURES: dict[int | str, dict[str, Any]] = {200: {"content": {"image/png": {}}}}


@router.get(
    "/{submission_id}/samples/{number}/{side}.ogg", summary="Hear a sample", response_class=Response, responses=_FILES
)
def listen(
    submission_id: SubmissionId, number: Number, side: Side, request: Request, session: ReadTransaction, caller: Caller
) -> Response:
    """Send the reference or the resynthesis of a sample as Ogg Opus, whole or in part (``Range``)."""
    found = _visible(session, submission_id, caller)
    content = stored_sound(request.app.state.settings, found, sample(found, number), side)
    return sound_answer(request, content, cache_control_of(found))


@router.get(
    "/{submission_id}/samples/{number}/spectrogram/{picture}.png", summary="See a sample", response_class=Response,
    responses=_PICTURES,
)  # fmt: skip
def spectrogram(
    submission_id: SubmissionId,
    number: Number,
    picture: Picture,
    request: Request,
    session: ReadTransaction,
    caller: Caller,
) -> Response:
    """Send the spectrogram of a sample: time to the right, frequency upward, level as colour.

    Both sounds share one scale of 80 dB below the loudest moment of the reference. The difference shows what the
    resynthesis has more (orange) or less (blue) of, up to 30 dB.
    """
    found = _visible(session, submission_id, caller)
    chosen = sample(found, number)
    drawn, key = codec_caches(request.app.state).pictures, (found.id, number)
    # Only what is computed counts: pictures from memory cost nothing.
    if key not in drawn:
        check_limit(request, caller, "computations")
    made = drawn.get(key, lambda: pictures(session, request.app.state.settings, found, chosen))
    return answer(request, made[picture], "image/png", cache_control_of(found))


@moderation_router.get("/{submission_id}/samples/{number}/spectrogram/{picture}.png", include_in_schema=False)
def moderated_spectrogram(
    submission_id: SubmissionId,
    number: Number,
    picture: Picture,
    request: Request,
    session: ReadTransaction,
    moderator: Moderator,
) -> Response:
    """Send the same of a submission in any status to a moderator who is logged in."""
    found = _visible(session, submission_id, moderator.identity)
    chosen = sample(found, number)
    key = (found.id, number)
    made = codec_caches(request.app.state).pictures.get(
        key, lambda: pictures(session, request.app.state.settings, found, chosen)
    )
    return answer(request, made[picture], "image/png", "private, no-store")


def _visible(session: Session, submission_id: str, caller: Identity) -> Submission:
    """Find a submission that the caller may see: a token of a moderator shows all. Raises NotFound."""
    found = repository.submission(session, submission_id, also_hidden="moderate" in caller.scopes)
    if found is None:
        raise NotFound(f"no public submission {submission_id}")
    return found
