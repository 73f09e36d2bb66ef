"""Decisions about submissions: the state machine of their status, its rules, and its execution in a transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from codec_superb.pipeline.submission.titles import text_fault
from codec_superb.server.database.models import PUBLIC, Submission
from codec_superb.server.database.session import Database, bump_revision, record_change
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.moderation.repository import (
    files_of,
    find,
    find_codec,
    find_family,
    find_public,
    set_status,
)
from codec_superb.server.moderation.verified_first import hold_name, place_anew
from codec_superb.server.names import catalogue
from codec_superb.server.names.claims import claim_public_names, expect_no_selection
from codec_superb.server.people.access import Identity
from codec_superb.server.people.audit import record
from codec_superb.server.people.tokens import check_name, find_account
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault import vault_of

Decision = Literal["accept", "reject", "hold", "verify", "withdraw"]
Kind = Literal["codec", "family"]
"""What has a name that an account owns."""
KINDS: tuple[Kind, ...] = get_args(Kind)
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
SHOWN = 5
"""Missing files that are named."""


def choices(status: str) -> tuple[Decision, ...]:
    """Return the possible decisions about a submission of this status."""
    return tuple(decision for decision in DECISIONS if (status, decision) in TRANSITIONS)


def needs_reason(status: str, decision: Decision) -> bool:
    """Whether the decision needs a reason: rejecting, holding, withdrawing, and publishing again after a withdrawal."""
    return decision in {"reject", "hold", "withdraw"} or status == "withdrawn"


@contextmanager
def decided(
    database: Database, settings: Settings, submission_id: str, decision: Decision, reason: str, *,
    actor: str, seen: str | None = None,
) -> Iterator[Submission]:  # fmt: skip
    """Make a decision in a transaction that ends with the block, see :func:`decide`.

    What comes back must have its files, without which there is no backup. Raises Unavailable where a store of files
    does not answer.
    """
    # before the transaction: a store may take minutes, for which other writers would wait
    here = None if decision != "accept" else _files_here(database, settings, submission_id)
    with database.transaction(write=True) as session:
        yield decide(session, submission_id, decision, reason, actor=actor, seen=seen, here=here)


def _files_here(database: Database, settings: Settings, submission_id: str) -> Collection[str]:
    """List the files of a submission that are in their place; none are looked for unless it is withdrawn."""
    with database.transaction() as session:
        submission = find(session, submission_id)
        if submission is None or submission.status != "withdrawn":
            return ()
        wanted = files_of(session, submission)
    vault = vault_of(settings)
    return {sha256 for sha256 in wanted if vault.has(sha256)}


def decide(
    session: Session,
    submission_id: str,
    decision: Decision,
    reason: str,
    *,
    actor: str,
    seen: str | None = None,
    named: bool = True,
    here: Collection[str] | None = None,
    asked: datetime | None = None,
) -> Submission:
    """Make a decision in the caller's transaction, with its entry in the audit log; return the submission.

    ``seen`` is the status that the moderator saw, where known: accepting a pending submission must not publish one that
    another moderator rejects at the same moment. Without ``named`` titles and families are nobody's, as on a board of
    one machine. ``here`` are the files that were in their place just before, of which what comes back needs its own.
    ``asked`` is when a run was asked for whose outcome this is: what came to light since, it does not know.
    Raises NotFound for an unknown submission, Conflict for a decision that the status does not allow or that was made
    concurrently, for missing files, and for names that look like others by now, BadRequest for a missing or invalid
    reason.
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
    _expect_files(session, submission, here)
    shown = before in PUBLIC or after in PUBLIC
    if shown:
        hold_name(session, submission)
    if not set_status(session, submission_id, before, after, decided_by=actor, reason=why or None):
        raise _overtaken(submission_id)
    session.refresh(submission)
    if after in PUBLIC:
        submission.public_since = submission.public_since or submission.decided
        if named:
            _publish(session, submission, before, actor)
    record(
        session, actor, "submission.decided", submission_id,
        decision=decision, before=before, after=after, reason=why, codec=submission.codec.name,
        version=submission.version, **({} if asked is None else {"asked": asked.isoformat()}),
    )  # fmt: skip
    if shown:
        # on a board of one machine the newest stands, whoever made it
        moved = place_anew(session, submission, before, accepted=decision == "accept") if named else ()
        record_change(session, submission_id, after, moved)
    return submission


def _publish(session: Session, submission: Submission, before: str, actor: str) -> None:
    """Take the names of what becomes public, where it may stand."""
    identity = submission.id  # not to be read once the transaction has failed
    if before not in PUBLIC:
        expect_no_selection(session, submission)
    try:
        claim_public_names(session, submission, actor=actor)
    except IntegrityError:  # PostgreSQL: the check cannot see what another transaction has not committed yet
        raise Conflict(
            f"a name, title or family that looks like one of {identity} became public just now; decide "
            "again to see which"
        ) from None


def _expect_files(session: Session, submission: Submission, here: Collection[str] | None) -> None:
    """Expect the files of what was withdrawn: a backup leaves them out where they lack, of others it cannot."""
    if here is None or submission.status != "withdrawn":
        return
    if lacking := [sha256 for sha256 in files_of(session, submission) if sha256 not in here]:
        raise Conflict(
            f"expected the files of submission {submission.id} in their place, got none of SHA-256 "
            f"{', '.join(lacking[:SHOWN])}{' and more' * (len(lacking) > SHOWN)}: who has them sends the submission "
            "again, or a maintainer puts them back from an older backup; then decide again"
        )


def _overtaken(submission_id: str) -> Conflict:
    return Conflict(f"somebody else decided about submission {submission_id} meanwhile; load it again to see it")


def withdraw_own(session: Session, submission_id: str, reason: str, caller: Identity) -> Submission:
    """Take back what the caller's account sent, in whatever status. Raises NotFound for anything else."""
    submission = find_own(session, submission_id, caller)
    if submission.status == "withdrawn":
        raise Conflict(f"submission {submission_id} is withdrawn already; a moderator alone brings it back")
    decision: Decision = "withdraw" if submission.status in PUBLIC else "reject"
    return decide(session, submission_id, decision, reason.strip() or "by its submitter", actor=caller.name)


def find_own(session: Session, submission_id: str, caller: Identity) -> Submission:
    """Find a submission of the caller's account, in any status; others look like missing ones. Raises NotFound."""
    submission = find(session, submission_id)
    if submission is None or caller.anonymous or submission.account_id != caller.account_id:
        raise NotFound(f"{caller.name} has sent no submission with the id {submission_id!r}")
    return submission


def transfer(session: Session, kind: Kind, name: str, account: str, *, actor: str) -> str | None:
    """Give the name of a codec or a family to another account; return the previous owner.

    Raises NotFound for an unknown name or account, BadRequest for an invalid account name, Conflict where the account
    owns it and for a name of the catalogue, which nobody owns.
    """
    check_name(account)
    receiver = find_account(session, account)
    if receiver is None:
        raise NotFound(f"no account is named {account[:80]!r}; codec-superb admin token create makes one")
    named = find_codec(session, name) if kind == "codec" else find_family(session, name)
    if name in (catalogue.cards() if kind == "codec" else catalogue.families().values()):
        raise Conflict(f"{name} is a {kind} of the catalogue, which nobody owns")
    if named is None:
        raise NotFound(f"no {kind} is named {name!r}: it has no submission")
    before = None if named.owner is None else named.owner.name
    if before == account:
        raise Conflict(f"{named.name} belongs to {account} already")
    named.owner = receiver
    record(session, actor, f"{kind}.transferred", named.name, before=before, after=account)
    session.flush()
    # results under a name that nobody owns stand in another order: a state of the board of its own
    public = find_public(session, name) if kind == "codec" else None
    if public is None:
        bump_revision(session)
    else:
        record_change(session, public.id, public.status)
    return before


def checked_reason(text: str) -> str:
    """Return a reason without surrounding spaces. Raises BadRequest for one that is too long or not plain text."""
    stripped = text.strip()
    if len(stripped) > REASON_LIMIT:
        raise BadRequest(f"expected a reason of at most {REASON_LIMIT} characters, got {len(stripped)}")
    # among what is not seen are NUL, which PostgreSQL cannot store, and surrogates, which UTF-8 cannot encode
    if fault := text_fault(stripped):
        expected, got = fault
        raise BadRequest(f"expected a reason of {expected}, got {got}")
    return stripped
