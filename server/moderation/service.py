"""Decisions about submissions: which there are, from which status to which they lead, and that each is made once."""

from __future__ import annotations

import unicodedata
from types import MappingProxyType
from typing import Literal, get_args

from sqlalchemy.orm import Session

from codec_superb.server.database.models import PUBLIC, Submission
from codec_superb.server.database.session import bump_revision
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.moderation.repository import find, find_codec, set_status
from codec_superb.server.people.audit import record
from codec_superb.server.people.tokens import account_of, check_name

Decision = Literal["accept", "reject", "verify", "withdraw"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)

TRANSITIONS = MappingProxyType({
    ("pending", "accept"): "published",
    ("pending", "reject"): "withdrawn",
    ("published", "verify"): "verified",
    ("published", "withdraw"): "withdrawn",
    ("verified", "withdraw"): "withdrawn",
    ("withdrawn", "accept"): "published",
})  # fmt: skip
"""Status and decision to the status that follows; no other decision can be made."""
REASON_LIMIT = 2000
"""Characters of a reason."""
_LINES = "\n\r\t"


def choices(status: str) -> tuple[Decision, ...]:
    """Return the decisions that can be made about a submission of this status."""
    return tuple(decision for decision in DECISIONS if (status, decision) in TRANSITIONS)


def needs_reason(status: str, decision: Decision) -> bool:
    """Whether the decision must say why: one that takes results away, and one that brings withdrawn ones back."""
    return decision in {"reject", "withdraw"} or status == "withdrawn"


def decide(
    session: Session, submission_id: str, decision: Decision, reason: str, *, actor: str, seen: str | None = None
) -> Submission:
    """Make a decision in the caller's transaction, with its entry in the audit log; return the submission.

    ``seen`` is the status that the decision is about, where that is known: who accepts what is pending does not mean to
    bring back what somebody else rejects in the same moment. Raises NotFound for no submission, Conflict for a decision
    that its status does not allow or that somebody else made first, BadRequest for a reason that is missing or cannot
    be kept.
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
        bump_revision(session)
    session.refresh(submission)
    return submission


def _overtaken(submission_id: str) -> Conflict:
    return Conflict(f"somebody else decided about submission {submission_id} meanwhile; load it again to see it")


def transfer(session: Session, name: str, account: str, *, actor: str) -> str | None:
    """Give a codec's name to another account, which is added where there is none; return whose it was.

    Raises NotFound for no codec, BadRequest for a name that no account can have, Conflict where it is that account's.
    """
    check_name(account)
    codec = find_codec(session, name)
    if codec is None:
        raise NotFound(f"no submission ever came for a codec named {name!r}")
    before = None if codec.owner is None else codec.owner.name
    if before == account:
        raise Conflict(f"{codec.name} belongs to {account} already")
    codec.owner = account_of(session, account)
    record(session, actor, "codec.transferred", codec.name, before=before, after=account)
    return before


def checked_reason(text: str) -> str:
    """Return a reason without spaces around it. Raises BadRequest for one that is long or not plain text."""
    stripped = text.strip()
    if len(stripped) > REASON_LIMIT:
        raise BadRequest(f"expected a reason of at most {REASON_LIMIT} characters, got {len(stripped)}")
    for letter in stripped:
        if unicodedata.category(letter) in {"Cc", "Cs"} and letter not in _LINES:
            raise BadRequest(f"expected a reason in plain text, got the control character {letter!r}")
    return stripped
