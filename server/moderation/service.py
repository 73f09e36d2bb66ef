"""Decisions about submissions: the state machine of their status, its rules, and its execution in a transaction."""

from __future__ import annotations

import unicodedata
from types import MappingProxyType
from typing import Literal, get_args

from sqlalchemy.orm import Session

from codec_superb.server.database.models import PUBLIC, Submission
from codec_superb.server.database.session import record_change
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.moderation.repository import find, find_codec, set_status
from codec_superb.server.people.audit import record
from codec_superb.server.people.tokens import account_of, check_name

Decision = Literal["accept", "reject", "hold", "verify", "withdraw"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)

TRANSITIONS = MappingProxyType({
    ("pending", "accept"): "self-reported",
    ("pending", "reject"): "withdrawn",
    ("held", "accept"): "self-reported",
    ("held", "verify"): "verified",
    ("held", "reject"): "withdrawn",
    ("self-reported", "hold"): "held",
    ("verified", "hold"): "held",
    ("self-reported", "verify"): "verified",
    ("self-reported", "withdraw"): "withdrawn",
    ("verified", "withdraw"): "withdrawn",
    ("withdrawn", "accept"): "self-reported",
})  # fmt: skip
"""Next status by current status and decision; other decisions are refused."""
REASON_LIMIT = 2000
"""Largest length of a reason in characters."""
_LINES = "\n\r\t"


def choices(status: str) -> tuple[Decision, ...]:
    """Return the possible decisions about a submission of this status."""
    return tuple(decision for decision in DECISIONS if (status, decision) in TRANSITIONS)


def needs_reason(status: str, decision: Decision) -> bool:
    """Whether the decision needs a reason: rejecting, holding, withdrawing, and publishing again after a withdrawal."""
    return decision in {"reject", "hold", "withdraw"} or status == "withdrawn"


def decide(
    session: Session, submission_id: str, decision: Decision, reason: str, *, actor: str, seen: str | None = None
) -> Submission:
    """Make a decision in the caller's transaction, with its entry in the audit log; return the submission.

    ``seen`` is the status that the moderator saw, where known: accepting a pending submission must not publish one that
    another moderator rejects at the same moment. Raises NotFound for an unknown submission, Conflict for a decision
    that the status does not allow or that was made concurrently, BadRequest for a missing or invalid reason.
    """
    why = checked_reason(reason)
    submission = find(session, submission_id)
    if submission is None:
        raise NotFound(f"no submission has the id {submission_id!r}")
    before = submission.status
    if seen not in (None, before):
        raise _overtaken(submission_id)
    after = TRANSITIONS.get((before, decision))
    if after is None:
        allowed = " or ".join(choices(before))
        raise Conflict(f"expected {allowed} for a submission that is {before}, got {decision}; load it again to see it")
    if needs_reason(before, decision) and not why:
        raise BadRequest(
            f"expected a reason to {decision} a submission that is {before}, got none; it is shown with it"
        )
    if not set_status(session, submission_id, before, after, decided_by=actor, reason=why or None):
        raise _overtaken(submission_id)
    record(
        session, actor, "submission.decided", submission_id,
        decision=decision, before=before, after=after, reason=why, codec=submission.codec.name,
        version=submission.version,
    )  # fmt: skip
    if before in PUBLIC or after in PUBLIC:
        record_change(session, submission_id, after)
    session.refresh(submission)
    return submission


def _overtaken(submission_id: str) -> Conflict:
    return Conflict(f"somebody else decided about submission {submission_id} meanwhile; load it again to see it")


def transfer(session: Session, name: str, account: str, *, actor: str) -> str | None:
    """Give a codec's name to another account, which is created if necessary; return the previous owner.

    Raises NotFound for an unknown codec, BadRequest for an invalid account name, Conflict where the account owns it.
    """
    check_name(account)
    codec = find_codec(session, name)
    if codec is None:
        raise NotFound(f"no codec is named {name!r}: it has no submission")
    before = None if codec.owner is None else codec.owner.name
    if before == account:
        raise Conflict(f"{codec.name} belongs to {account} already")
    codec.owner = account_of(session, account)
    record(session, actor, "codec.transferred", codec.name, before=before, after=account)
    return before


def checked_reason(text: str) -> str:
    """Return a reason without surrounding spaces. Raises BadRequest for one that is too long or not plain text."""
    stripped = text.strip()
    if len(stripped) > REASON_LIMIT:
        raise BadRequest(f"expected a reason of at most {REASON_LIMIT} characters, got {len(stripped)}")
    for letter in stripped:
        # Control characters (Cc) include NUL, which PostgreSQL cannot store; UTF-8 cannot encode surrogates (Cs).
        if unicodedata.category(letter) in {"Cc", "Cs"} and letter not in _LINES:
            raise BadRequest(f"expected a reason in plain text, got the control character {letter!r}")
    return stripped
