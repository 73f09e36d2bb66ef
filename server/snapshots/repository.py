"""Reads which submissions were public at a revision."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from codec_superb.server.board.repository import counted_by_codec
from codec_superb.server.database.models import PUBLIC, AuditEntry, BoardChange, Codec, Submission, standing


class CountedThen(NamedTuple):
    """A submission that counted at a revision; the hash of its file binds every number in it."""

    codec: str
    submission: str
    version: int
    status: str
    file_sha256: str
    today: str
    """Its status now."""

    @property
    def taken_back(self) -> bool:
        """Whether it is no longer public."""
        return self.today not in PUBLIC


def change_before(session: Session, revision: int) -> datetime | None:
    """Return when the last change up to ``revision`` was made; None where none is recorded."""
    statement = select(BoardChange.at).where(BoardChange.revision <= revision)
    return session.scalar(statement.order_by(BoardChange.revision.desc(), BoardChange.at.desc()).limit(1))


def first_revision(session: Session) -> int | None:
    """Return the first revision with a recorded state; None where nothing was ever public."""
    return session.scalar(select(func.min(BoardChange.revision)))


class CountedAt(NamedTuple):
    """What counted at a revision, by the codec's name."""

    standing: Sequence[CountedThen]
    """The public submission that stood for each codec."""
    confirmed: Sequence[CountedThen]
    """See :attr:`~codec_superb.server.board.snapshot.Snapshot.confirmed`."""
    behind: Sequence[CountedThen]
    """Further verified ones, see :attr:`~codec_superb.server.board.snapshot.Snapshot.behind`."""

    reported: Sequence[CountedThen]
    """See :attr:`~codec_superb.server.board.repository.Counted.reported`: not bound by a state's hash."""

    @property
    def run_again(self) -> Sequence[CountedThen]:
        """Verified ones beside those that stood."""
        return [*self.confirmed, *self.behind]


def counted_at(session: Session, revision: int, at: datetime) -> CountedAt:
    """Find what stood for every codec and was public at ``revision``, and what of it was run again beside that.

    Those on datasets of the benchmark and without a condition, as on the board. ``at`` is when the last change up to
    the revision was made: whose a name was then decides what stood in front.
    """
    nobodys = _nobodys(at)
    last = (
        select(BoardChange.submission_id, func.max(BoardChange.revision).label("revision"))
        .where(BoardChange.revision <= revision)
        .group_by(BoardChange.submission_id)
        .subquery()
    )
    then = (Codec.name, Submission.id, Submission.version, BoardChange.status, Submission.file_sha256)
    statement = (
        select(*then, Submission.status, Submission.account_id, nobodys.label("nobodys"))
        .join(last, (BoardChange.submission_id == last.c.submission_id) & (BoardChange.revision == last.c.revision))
        .join(Submission, Submission.id == BoardChange.submission_id)
        .join(Codec, Submission.codec_id == Codec.id)
        .where(BoardChange.status.in_(PUBLIC), Submission.custom.is_(False), Submission.condition == "")
        .order_by(Submission.codec_id, *standing(BoardChange.status, BoardChange.behind, BoardChange.place, nobodys))
    )
    rows = [(CountedThen(*row[:6]), row.account_id, row.nobodys) for row in session.execute(statement)]
    of = {each.submission: each for each, _, _ in rows}
    found = counted_by_codec(
        (each.codec, each.submission, each.status, each.version, account, free) for each, account, free in rows
    )
    counted = [found[codec] for codec in sorted(found)]
    return CountedAt(
        standing=[of[each.submission] for each in counted],
        confirmed=[of[each.confirmed] for each in counted if each.confirmed],
        behind=[of[identity] for each in counted for identity in each.behind],
        reported=[of[identity] for each in counted for identity in each.reported],
    )


def _nobodys(at: datetime) -> ColumnElement[bool]:
    """Say which names nobody owned at a moment: the first change of an owner after it tells, else there was none."""
    changed = AuditEntry.action.in_(("codec.claimed", "codec.transferred", "codec.released"))
    first = select(func.min(AuditEntry.id)).where(AuditEntry.at > at, changed).group_by(AuditEntry.subject)
    # released: by an upgrade whose catalogue has the name; claimed, or transferred, from nobody: without one before
    owned = or_(AuditEntry.action == "codec.released", AuditEntry.detail["before"].as_string().is_not(None))
    names = select(AuditEntry.subject).where(AuditEntry.id.in_(first))
    return Codec.name.in_(names.where(~owned)) | (Codec.owner_id.is_(None) & Codec.name.not_in(names.where(owned)))
