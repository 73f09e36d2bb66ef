"""What a signed attestation changes: a submission becomes verified, or waits again with what differs as the reason."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.pipeline.submission.titles import as_seen
from codec_superb.pipeline.verification.attestation import (
    Attestation,
    AttestationError,
    check_signature,
    read_attestation,
)
from codec_superb.pipeline.verification.drawn import check_drawn
from codec_superb.pipeline.verification.statement import Statement, beside_rows
from codec_superb.server.database.models import PUBLIC, ClipBlock, Submission, now
from codec_superb.server.database.models import Attestation as Row
from codec_superb.server.database.run_again import not_run_again
from codec_superb.server.database.session import record_change
from codec_superb.server.errors import BadRequest, Conflict, Forbidden, NotFound
from codec_superb.server.moderation.repository import find_whole
from codec_superb.server.moderation.service import REASON_LIMIT, decide
from codec_superb.server.moderation.verified_first import hold_name, place_anew
from codec_superb.server.people.audit import record
from codec_superb.server.storage.custom_tasks import custom_tasks
from codec_superb.server.verification.candidates import after_difference, differed_since
from codec_superb.server.verification.keys import find as find_key

AHEAD = timedelta(days=1)
"""By how much a maintainer's clock may be ahead."""
OPEN = ("held", "self-reported", "verified")
"""Statuses of submissions that an attestation may be about."""


def read(data: bytes) -> Attestation:
    """Read what anybody may send, before a transaction. Raises BadRequest for what is no attestation."""
    try:
        return read_attestation(data)
    except AttestationError as error:
        raise BadRequest(str(error)) from error


def accept(
    session: Session, attestation: Attestation, submission_id: str | None = None, *, asked: datetime | None = None
) -> Row:
    """Take a signed attestation: the signature of a known key is the permission. In a writing transaction.

    ``submission_id`` names the submission where its public file was verified, which lacks the contact and so has
    another hash; its rows, pairs, frames and listening samples are the same.

    Raises BadRequest for what was changed, Forbidden for a key that is unknown or revoked, NotFound where no submission
    has the file, Conflict for one that was received before, comes too late, or whose clips do not follow from the file
    and the seed.

    ``asked``: when its job was queued, None for the time that it states. A hold that was decided since then stays:
    whoever held the submission did not know that it was being run again, and may have had another reason. So does what
    the account sent of the codec where a version of it differed since: of several draws one may miss what is forged.
    """
    name = _signer(session, attestation)
    statement = attestation.statement
    submission = _submission(session, statement, submission_id)
    digest = attestation.sha256
    if session.scalars(select(Row.id).where(Row.sha256 == digest)).one_or_none() is not None:
        raise Conflict(f"this attestation about submission {submission.id} was received before; nothing has changed")
    _check(session, submission, statement)
    row = Row(
        submission_id=submission.id, fingerprint=attestation.fingerprint, sha256=digest,
        agrees=statement.verdict == "agrees", document=attestation.model_dump(mode="json"),
    )  # fmt: skip
    session.add(row)
    session.flush()
    record(session, name, "attestation.received", submission.id, verdict=statement.verdict, sha256=digest)
    _change(session, submission, statement, name, asked or datetime.fromisoformat(statement.made))
    return row


def attestations_of(session: Session, submission_id: str) -> Sequence[Row]:
    """List the attestations about a submission, the newest first."""
    found = select(Row).where(Row.submission_id == submission_id)
    return session.scalars(found.order_by(Row.id.desc())).all()


def not_compared(session: Session, submission: Submission) -> list[str]:
    """Name what the newest agreeing attestation of a submission did not compare: ``asv on mini``.

    Metrics and tasks of others than this program are among it, since nobody else can run them. Empty without an
    attestation: what the maintainers ran themselves is theirs. ``submission`` is one with its document.
    """
    document = submission.document
    found = not_run_again(session, {submission.id: document["datasets"]}).get(submission.id)
    if found is None:
        return []
    others = [each["label"] for each in document.get("custom_metrics", {}).values()]
    others += dict.fromkeys(f"{row.label} on {row.dataset}" for row in custom_tasks(document))
    return [*(f"{probe} on {dataset}" for dataset, probe in found), *others]


def public_attestation(session: Session, sha256: str) -> Row | None:
    """Find an attestation about a public submission by its hash."""
    found = select(Row).join(Submission, Submission.id == Row.submission_id)
    return session.scalars(found.where(Row.sha256 == sha256, Submission.status.in_(PUBLIC))).one_or_none()


def _signer(session: Session, attestation: Attestation) -> str:
    """Return who signed. Raises Forbidden and BadRequest."""
    key = find_key(session, attestation.fingerprint)
    if key is None or key.revoked is not None:
        state = "does not know" if key is None else "has revoked"
        raise Forbidden(
            f"this board {state} the key {attestation.fingerprint[:16]}…; a maintainer adds keys "
            "(`codec-superb admin key add`)"
        )
    try:
        check_signature(attestation, key.public_key)
    except AttestationError as error:
        raise BadRequest(str(error)) from error
    return key.name


def _submission(session: Session, statement: Statement, submission_id: str | None) -> Submission:
    """Return the submission that has the file, or is named and has all that is in it. Raises NotFound and Conflict."""
    found = session.scalars(select(Submission).where(Submission.file_sha256 == statement.file_sha256)).one_or_none()
    if found is None and submission_id is not None:
        named = find_whole(session, submission_id)
        own = None if named is None else (named.document.get("clips_sha256"), beside_rows(named.document))
        if own == (statement.rows_sha256, statement.beside_sha256):
            found = named if named is not None and named.codec.name == statement.codec else None
    if found is None:
        raise NotFound(
            f"no submission has the file {statement.file_sha256[:16]}…; where a download was verified, which lacks the "
            "submitter's contact, name the submission too"
        )
    if found.status not in OPEN:
        raise Conflict(f"expected a submission that is {', '.join(OPEN)}, got {found.id}, which is {found.status}")
    return found


class _Clip(NamedTuple):
    dataset: str
    category: str
    clip: str


def _check(session: Session, submission: Submission, statement: Statement) -> None:
    """Raise Conflict where a statement is not what running this submission's drawn clips again gives."""
    document = submission.document
    own = (document["clips_sha256"], submission.codec.name, document.get("condition"))
    condition = statement.condition and statement.condition.model_dump(mode="json")
    if own != (statement.rows_sha256, statement.codec, condition):
        raise Conflict(f"expected rows, codec and condition of submission {submission.id}, got others")
    if datetime.fromisoformat(statement.made) > now() + AHEAD:
        raise Conflict(f"expected an attestation that was made before today is over, got one of {statement.made}")
    found = select(ClipBlock.dataset, ClipBlock.data).where(ClipBlock.submission_id == submission.id)
    rows = [
        _Clip(dataset, category, clip)
        for dataset, data in session.execute(found)
        for category, clip in zip(*(column.to_pylist() for column in _columns(data)), strict=True)
    ]
    try:
        check_drawn(statement, {of["name"]: of["manifest_hash"] for of in document["datasets"]}, rows, by_default=True)
    except AttestationError as error:
        raise Conflict(str(error)) from error


def _columns(data: bytes) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    # pre_buffer reads ahead in threads of Arrow's own, for storage with latency; here the bytes are in memory
    table = pq.read_table(io.BytesIO(data), columns=["category", "clip"], use_threads=False, pre_buffer=False)
    return table.column("category"), table.column("clip")


def _change(session: Session, submission: Submission, statement: Statement, name: str, asked: datetime) -> None:
    """Decide, by the name of the key."""
    parts = ", ".join(f"{of.drawn} of {of.clips} clips of {of.name}" for of in statement.datasets)
    if statement.verdict == "agrees":
        held_since = submission.status == "held" and submission.decided is not None and submission.decided > asked
        if submission.status != "verified" and not held_since and not differed_since(session, submission, asked):
            decide(session, submission.id, "verify", f"run again: {parts} agree", actor=name, asked=asked)
        elif submission.status == "verified":  # what its badge covers is the newest attestation's to say
            hold_name(session, submission)
            record_change(session, submission.id, submission.status, place_anew(session, submission, "verified"))
        return
    if submission.status != "held":
        reason = "\n".join([f"run again: {parts}; these differ:", *statement.differing()])
        decide(session, submission.id, "hold", shortened(as_seen(reason)), actor=name)
    after_difference(session, submission, actor=name)


def shortened(reason: str) -> str:
    """Cut a reason to the length that is stored, at the end of a line, and say how many lines are left out."""
    if len(reason) <= REASON_LIMIT:
        return reason
    lines = reason.split("\n")
    room, kept = REASON_LIMIT - 40, 0
    while kept < len(lines) and len(lines[kept]) < room:
        room -= len(lines[kept]) + 1
        kept += 1
    return "\n".join([*lines[:kept], f"and {len(lines) - kept} more"])
