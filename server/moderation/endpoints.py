"""The moderation API: decisions by programs of moderators, and what an account may do with what it sent itself."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from codec_superb.server.database.session import ReadTransaction, database_of
from codec_superb.server.http.error_answers import error_responses
from codec_superb.server.moderation.schemas import DecisionAnswer, DecisionRequest, OwnSubmission, Withdrawal
from codec_superb.server.moderation.service import decided, find_own, withdraw_own
from codec_superb.server.people.access import Caller, Identity, ModeratingCaller

router = APIRouter(prefix="/api/v1", tags=["moderation"])
SubmissionId = Annotated[str, Path(pattern="^[a-z0-9]{1,12}$", description="Id of a submission, as in links.")]
_REFUSALS = error_responses(
    {
        400: "A reason is missing, or a parameter does not fit.",
        401: "No token, or one that is wrong, expired or revoked.",
        403: "The token lacks the scope `moderate`.",
        404: "No submission has the id.",
        409: "The submission's status does not allow the decision, its files are missing, or somebody else was first.",
    }
)


@router.post("/submissions/{submission_id}/decision", responses=_REFUSALS)
def decide_by_program(
    request: Request, submission_id: SubmissionId, wanted: DecisionRequest, caller: ModeratingCaller
) -> DecisionAnswer:
    """Accept, reject, hold, verify or withdraw a submission."""
    # Committed here, not by a dependency: FastAPI writes the answer in a thread before those end, and the threads may
    # all be waiting for the row that this transaction has locked.
    with decided(
        database_of(request), request.app.state.settings, submission_id, wanted.decision, wanted.reason,
        actor=caller.name, seen=wanted.status,
    ) as submission:  # fmt: skip
        return DecisionAnswer.of(submission)


def _submitting(caller: Caller) -> Identity:
    caller.require("submit")
    return caller


SubmittingCaller = Annotated[Identity, Depends(_submitting, scope="function")]
"""A sender with scope ``submit``; declare it before a WriteTransaction, so that others never begin one."""
_OWN_REFUSALS = {
    401: "No token, or one that is wrong, expired or revoked.",
    403: "The token lacks the scope `submit`.",
    404: "The token's account has sent no submission with the id.",
}


@router.get("/submissions/{submission_id}/status", responses=error_responses(_OWN_REFUSALS))
def own_status(submission_id: SubmissionId, caller: SubmittingCaller, session: ReadTransaction) -> OwnSubmission:
    """Say what has become of a submission of one's own, also while it waits for a moderator."""
    return OwnSubmission.of(find_own(session, submission_id, caller))


@router.post(
    "/submissions/{submission_id}/withdraw",
    responses=error_responses({**_OWN_REFUSALS, 400: "The reason does not fit.", 409: "It is withdrawn already."}),
)
def withdraw_by_account(
    request: Request, submission_id: SubmissionId, caller: SubmittingCaller, wanted: Withdrawal | None = None
) -> OwnSubmission:
    """Take back a submission of one's own, in whatever status; its history stays, and a moderator can undo it."""
    reason = "" if wanted is None else wanted.reason
    with database_of(request).transaction(write=True) as session:
        return OwnSubmission.of(withdraw_own(session, submission_id, reason, caller))
