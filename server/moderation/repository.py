"""Database queries of moderation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import CursorResult, Text, case, cast, exists, func, select, update
from sqlalchemy.orm import Session, aliased, contains_eager, defer, joinedload, undefer

from codec_superb.server.database.models import PUBLIC, AuditEntry, Codec, Family, Submission, SubmissionPart, now
from codec_superb.server.moderation.warning_groups import kinds
from codec_superb.server.names.standing import MOST_ORDERED

Found = Sequence[Submission]
LISTED = 2_000_000
"""Most characters of a submission's warnings that a list reads: what is kept today has fewer."""
_UNLISTED = (defer(Submission.card), defer(Submission.metrics), defer(Submission.notes))
"""What may be long, and no list shows."""


def find(session: Session, submission_id: str) -> Submission | None:
    """Find a submission by its id, in any status."""
    statement = (
        select(Submission)
        .where(Submission.id == submission_id)
        .options(joinedload(Submission.codec).joinedload(Codec.owner), joinedload(Submission.account))
    )
    return session.scalars(statement).one_or_none()


def find_whole(session: Session, submission_id: str) -> Submission | None:
    """Find a submission with its document."""
    return session.get(Submission, submission_id, options=[undefer(Submission.document)])


def files_of(session: Session, submission: Submission) -> Sequence[str]:
    """List the hashes of a submission's file and of its parts."""
    parts = select(SubmissionPart.sha256).where(SubmissionPart.submission_id == submission.id)
    return [submission.file_sha256, *session.scalars(parts.order_by(SubmissionPart.number))]


def find_codec(session: Session, name: str) -> Codec | None:
    """Find a codec by its name."""
    return session.scalars(select(Codec).where(Codec.name == name).options(joinedload(Codec.owner))).one_or_none()


def find_public(session: Session, codec: str) -> Submission | None:
    """Find the public submission of a codec that came last."""
    found = select(Submission).join(Codec, Codec.id == Submission.codec_id)
    found = found.where(Codec.name == codec, Submission.status.in_(PUBLIC)).order_by(Submission.version.desc())
    return session.scalars(found.limit(1)).one_or_none()


def find_family(session: Session, name: str) -> Family | None:
    """Find a family that is not of the catalogue by its name."""
    return session.scalars(select(Family).where(Family.name == name).options(joinedload(Family.owner))).one_or_none()


def set_status(
    session: Session, submission_id: str, before: str, after: str, *, decided_by: str, reason: str | None
) -> bool:
    """Change the status from ``before`` to ``after``; return False if it is no longer ``before``.

    A compare-and-set in one UPDATE: of two concurrent transactions the second waits for the row lock and matches none.
    """
    result = session.execute(
        update(Submission)
        .where(Submission.id == submission_id, Submission.status == before)
        .values(status=after, decided=now(), decided_by=decided_by, reason=reason),
        execution_options={"synchronize_session": False},
    )
    assert isinstance(result, CursorResult)
    return result.rowcount == 1


def of_status(
    session: Session, statuses: Collection[str], *, limit: int, offset: int = 0, oldest_first: bool = False
) -> Found:
    """List submissions of some statuses, newest first or oldest first."""
    order = (Submission.received, Submission.id) if oldest_first else (Submission.received.desc(), Submission.id)
    statement = select(Submission).options(joinedload(Submission.codec), joinedload(Submission.account), *_UNLISTED)
    statement = statement.where(Submission.status.in_(statuses))
    return session.scalars(statement.order_by(*order).limit(limit).offset(offset)).all()


def count_of_status(session: Session, statuses: Collection[str]) -> int:
    """Count submissions of some statuses."""
    return session.scalar(select(func.count()).where(Submission.status.in_(statuses))) or 0


def of_account(session: Session, account_id: int, *, limit: int) -> Found:
    """List the submissions of an account in any status, newest first."""
    statement = select(Submission).options(joinedload(Submission.codec), *_UNLISTED)
    statement = statement.where(Submission.account_id == account_id)
    return session.scalars(statement.order_by(Submission.received.desc(), Submission.id).limit(limit)).all()


def kinds_of_warnings(session: Session, found: Found) -> Mapping[str, str]:
    """Name the kinds of each submission's warnings with their counts; those of ten are in memory at a time."""
    few = func.length(cast(Submission.warnings, Text)) <= LISTED
    chosen = select(Submission.id, case((few, Submission.warnings)))
    chosen = chosen.where(Submission.id.in_([each.id for each in found]))
    rows = session.execute(chosen, execution_options={"yield_per": 10})
    return {identity: "very many" if warnings is None else kinds(warnings) for identity, warnings in rows}


def families(session: Session) -> Sequence[Family]:
    """List the families that are not of the catalogue, by name."""
    return session.scalars(select(Family).options(joinedload(Family.owner)).order_by(Family.name)).all()


def recently_decided(session: Session, limit: int) -> Found:
    """List the most recently decided submissions."""
    statement = (
        select(Submission)
        .where(Submission.decided.is_not(None))
        .options(joinedload(Submission.codec), *_UNLISTED)
        .order_by(Submission.decided.desc(), Submission.id)
    )
    return session.scalars(statement.limit(limit)).all()


def behind_others(session: Session, limit: int) -> Sequence[tuple[Submission, Submission]]:
    """List results of a name that nobody owns behind those of another account where nobody ran any of them again.

    The newest first, each with that which is shown; of an account the one that stands for it.
    """
    front, run_again = aliased(Submission), aliased(Submission)
    of_it = (front.codec_id == Submission.codec_id) & (front.condition == Submission.condition)
    statement = (
        select(Submission, front)
        .join(Submission.codec)
        .join(front, of_it & (front.status == "self-reported") & front.behind.is_(False) & front.custom.is_(False))
        .where(Submission.status == "self-reported", Submission.custom.is_(False), Codec.owner_id.is_(None))
        .where(Submission.behind, Submission.place < MOST_ORDERED)
        .where(
            ~exists().where(
                run_again.codec_id == Submission.codec_id, run_again.condition == Submission.condition,
                run_again.status == "verified", run_again.custom.is_(False),
            )
        )
        .options(contains_eager(Submission.codec), joinedload(Submission.account), *_UNLISTED)
        .options(joinedload(front.account), defer(front.card), defer(front.metrics), defer(front.notes))
        .order_by(Submission.received.desc(), Submission.id)
    )  # fmt: skip
    return [(row[0], row[1]) for row in session.execute(statement.limit(limit))]


def audit_entries(session: Session, limit: int, before: int | None = None) -> Sequence[AuditEntry]:
    """List entries of the audit log, the newest first; only ids below ``before``, for paging."""
    statement = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(limit)
    return session.scalars(statement if before is None else statement.where(AuditEntry.id < before)).all()


def entries_about(session: Session, submission_id: str) -> Sequence[AuditEntry]:
    """List the audit entries of a submission, in order."""
    statement = select(AuditEntry).where(
        AuditEntry.subject == submission_id, AuditEntry.action.startswith("submission.")
    )
    return session.scalars(statement.order_by(AuditEntry.id)).all()
