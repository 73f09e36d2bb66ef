"""``/api/v1/attestations`` and the keys that sign them, at ``/.well-known/codec-superb-keys.json``."""

from __future__ import annotations

from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse

from codec_superb.pipeline.verification.attestation import Attestation
from codec_superb.pipeline.verification.keys import KEYS_PATH
from codec_superb.server.database.models import PUBLIC, Submission
from codec_superb.server.database.session import ReadTransaction, database_of
from codec_superb.server.errors import NotFound
from codec_superb.server.http.answer_turns import made_in_turn
from codec_superb.server.http.error_answers import error_responses
from codec_superb.server.moderation.endpoints import SubmissionId
from codec_superb.server.moderation.repository import find as find_submission
from codec_superb.server.people.limits import CountedComputation
from codec_superb.server.verification import attestations, keys
from codec_superb.server.verification.schemas import (
    AttestationItem,
    AttestationList,
    AttestationReceipt,
    KeyItem,
    KeyList,
)

router = APIRouter(tags=["verification"])
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="Hash of an attestation.")]
_BODY: dict[str, Any] = {
    "required": True, "content": {"application/json": {"schema": {"type": "object"}}},
}  # fmt: skip
_ERRORS = {
    400: "no attestation, or its signature does not fit",
    403: "signed by a key that this board does not know, or has revoked",
    404: "no submission has the file",
    409: "received before, the submission is withdrawn or pending, or the clips are not those that the seed draws",
    413: "larger than the limit",
}


@router.get(KEYS_PATH)
def list_keys(session: ReadTransaction) -> KeyList:
    """List the public keys by which attestations of this board are checked, revoked ones too."""
    return KeyList(keys=[KeyItem.of(key) for key in keys.all_keys(session)])


@router.post(
    "/api/v1/attestations",
    status_code=201,
    openapi_extra={"requestBody": _BODY},
    responses=error_responses(_ERRORS),
)
async def send_attestation(
    request: Request,
    _counted: CountedComputation,
    submission: Annotated[
        str | None,
        Query(
            pattern="^[a-z0-9]{1,12}$", description="Its id, where a download was verified, which lacks the contact."
        ),
    ] = None,
) -> AttestationReceipt:
    """Send a signed attestation, as `codec-superb verify --key --out` writes it: its signature is the permission."""
    data = await request.body()  # of limited size
    # in turn, since anybody may send one, and before a writing transaction has the database to itself
    attestation = await made_in_turn(request, attestations.read, data)
    return await run_sync(_received, request, attestation, submission)


def _received(request: Request, attestation: Attestation, submission: str | None) -> AttestationReceipt:
    with database_of(request).transaction(write=True) as session:
        row = attestations.accept(session, attestation, submission)
        key = keys.find(session, row.fingerprint)
        assert key is not None
        status = session.get_one(Submission, row.submission_id).status
        return AttestationReceipt(attestation=AttestationItem.of(row, key.name), status=status)


@router.get("/api/v1/submissions/{identity}/attestations")
def list_attestations(session: ReadTransaction, identity: SubmissionId) -> AttestationList:
    """List who ran a submission again, and what came out."""
    found = find_submission(session, identity)
    if found is None or found.status not in PUBLIC:
        raise NotFound(f"no public submission has the id {identity!r}")
    names = {key.fingerprint: key.name for key in keys.all_keys(session)}
    rows = attestations.attestations_of(session, found.id)
    return AttestationList(attestations=[AttestationItem.of(row, names[row.fingerprint]) for row in rows])


@router.get(
    "/api/v1/attestations/{sha256}",
    response_class=JSONResponse,
    responses={200: {"content": {"application/json": {}}, "description": "the attestation, as it was signed"}},
)
def one_attestation(session: ReadTransaction, sha256: Digest) -> JSONResponse:
    """Return a whole attestation, which `codec-superb verify --attestation` checks offline."""
    found = attestations.public_attestation(session, sha256)
    if found is None:
        raise NotFound("no public submission has an attestation with this hash")
    return JSONResponse(found.document)
