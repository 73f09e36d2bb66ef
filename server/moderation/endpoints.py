"""The moderation API: decisions by programs with a token of scope ``moderate``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from codec_superb.server.database.session import WriteTransaction
from codec_superb.server.http.error_answers import error_responses
from codec_superb.server.moderation.schemas import DecisionAnswer, DecisionRequest
from codec_superb.server.moderation.service import decide
from codec_superb.server.people.access import ModeratingCaller

router = APIRouter(prefix="/api/v1", tags=["moderation"])
SubmissionId = Annotated[str, Path(pattern="^[a-z0-9]{1,12}$", description="Id of a submission, as in links.")]
_REFUSALS = error_responses(
    {
        400: "A reason is missing, or a parameter does not fit.",
        401: "No token, or one that is wrong, expired or revoked.",
        403: "The token lacks the scope `moderate`.",
        404: "No submission has the id.",
        409: "The submission's status does not allow the decision, or somebody else was first.",
    }
)


@router.post("/submissions/{submission_id}/decision", responses=_REFUSALS)
def decide_by_program(
    submission_id: SubmissionId, wanted: DecisionRequest, caller: ModeratingCaller, session: WriteTransaction
) -> DecisionAnswer:
    """Accept, reject, verify or withdraw a submission."""
    return DecisionAnswer.of(
        decide(session, submission_id, wanted.decision, wanted.reason, actor=caller.name, seen=wanted.status)
    )
