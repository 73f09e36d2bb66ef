"""What the database knows of one codec; only what is public is ever found here, unless a moderator asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, and_, func, select
from sqlalchemy.orm import Session, joinedload, selectinload, undefer

from codec_superb.server.database.models import PUBLIC, ClipBlock, Codec, Result, Submission


def newest(session: Session, name: str) -> Submission | None:
    """Find the newest public version of a codec's results, with its results and its document."""
    statement = (
        _public()
        .where(Codec.name == name)
        .order_by(Submission.version.desc())
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


def history(session: Session, codec_id: int) -> Sequence[Submission]:
    """List the versions that were decided on, newest first: public ones and withdrawn ones."""
    statement = (
        select(Submission)
        .where(Submission.codec_id == codec_id, Submission.status != "pending")
        .order_by(Submission.version.desc())
    )
    return session.scalars(statement).all()


def public_names(session: Session) -> Sequence[str]:
    """List the names of all codecs with public results, sorted."""
    statement = select(Codec.name).where(Codec.id.in_(_public_codecs())).order_by(Codec.name)
    return session.scalars(statement).all()


def count_public(session: Session) -> int:
    """Count the codecs with public results."""
    return session.scalar(select(func.count()).select_from(Codec).where(Codec.id.in_(_public_codecs()))) or 0


def page_of_codecs(session: Session, limit: int, offset: int) -> Sequence[Submission]:
    """List the newest public version of each codec, by name, with its results over all datasets."""
    statement = (
        _newest_only()
        .order_by(Codec.name)
        .limit(limit)
        .offset(offset)
        .options(
            joinedload(Submission.codec),
            selectinload(Submission.results.and_(Result.dataset == "")),
        )
    )
    return session.scalars(statement).all()


def neighbours(session: Session, category: str, low: float, high: float) -> Sequence[Row[str, Any, Result]]:
    """List name, card and category result of the newest public version of each codec with ``low <= kbps <= high``."""
    statement = (
        _newest_only()
        .join(Result, Result.submission_id == Submission.id)
        .where(Result.category == category, Result.dataset == "", Result.kbps >= low, Result.kbps <= high)
        .order_by(Result.kbps, Codec.name)
        .with_only_columns(Codec.name, Submission.card, Result)
    )
    return session.execute(statement).all()


def family_members(session: Session, family: str) -> Sequence[Row[str, Any]]:
    """List name and card of the newest public version of each codec of a family, by name."""
    statement = (
        _newest_only()
        .where(Submission.card["family"].as_string() == family)
        .order_by(Codec.name)
        .with_only_columns(Codec.name, Submission.card)
    )
    return session.execute(statement).all()


def clip_block(session: Session, identity: str, dataset: str) -> bytes | None:
    """Return the Parquet block of a submission's clips on one dataset."""
    statement = select(ClipBlock.data).where(ClipBlock.submission_id == identity, ClipBlock.dataset == dataset)
    return session.scalars(statement).one_or_none()


def _public() -> Any:
    return select(Submission).join(Codec, Codec.id == Submission.codec_id).where(Submission.status.in_(PUBLIC))


def _public_codecs() -> Any:
    return select(Submission.codec_id).where(Submission.status.in_(PUBLIC))


def _newest_only() -> Any:
    last = (
        select(Submission.codec_id, func.max(Submission.version).label("version"))
        .where(Submission.status.in_(PUBLIC))
        .group_by(Submission.codec_id)
        .subquery()
    )
    here = and_(last.c.codec_id == Submission.codec_id, last.c.version == Submission.version)
    return select(Submission).join(Codec, Codec.id == Submission.codec_id).join(last, here)
