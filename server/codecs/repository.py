"""Database queries on one codec; they find public submissions alone, unless a moderator asks."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, selectinload, undefer

from codec_superb.server.database.models import COUNTED, PUBLIC, STANDING, ClipBlock, Codec, Submission


def newest(session: Session, name: str) -> Submission | None:
    """Find the public version that stands for a codec, with its results and its document."""
    statement = (
        select(Submission)
        .join(Codec, Codec.id == Submission.codec_id)
        .where(Codec.name == name, COUNTED)
        .order_by(*(each.desc() for each in STANDING))
        .limit(1)
        .options(joinedload(Submission.codec), selectinload(Submission.results), undefer(Submission.document))
    )
    return session.scalars(statement).one_or_none()


def submission(session: Session, identity: str, *, also_hidden: bool) -> Submission | None:
    """Find one submission with its document; one that is not public only where ``also_hidden``."""
    statement = select(Submission).where(Submission.id == identity).options(undefer(Submission.document))
    if not also_hidden:
        statement = statement.where(Submission.status.in_(PUBLIC))
    return session.scalars(statement).one_or_none()


def clip_block(session: Session, identity: str, dataset: str) -> bytes | None:
    """Return the Parquet block of a submission's clips on one dataset."""
    statement = select(ClipBlock.data).where(ClipBlock.submission_id == identity, ClipBlock.dataset == dataset)
    return session.scalars(statement).one_or_none()
