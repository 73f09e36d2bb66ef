"""Queries on accepted submissions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, column, func, select
from sqlalchemy.orm import Session, joinedload, selectinload, undefer

from codec_superb.server.database.models import (
    COUNTED,
    NAMED,
    PUBLIC,
    SHOWN,
    STANDING,
    ClipBlock,
    Codec,
    Result,
    Submission,
    SubmissionPart,
)
from codec_superb.server.database.session import Database
from codec_superb.server.names.standing import MOST_ORDERED
from codec_superb.server.storage.block_parts import StoredBlock

VERSIONS = 100
"""Versions of a codec's results on a page: under a name of the catalogue anybody may send as many as they like."""
_AT_ONCE = 10
"""Whole submissions of one query."""


def public_page(
    session: Session,
    *,
    codec: str | None,
    status: str | None,
    dataset: str | None,
    custom: bool | None,
    page: int,
    per_page: int,
) -> tuple[int, Sequence[Submission]]:
    """Return how many public submissions fit, and one page of them, newest first."""
    chosen = select(Submission).join(Submission.codec).where(Submission.status.in_(PUBLIC))
    if codec is not None:
        chosen = chosen.where(Codec.name == codec)
    if status is not None:
        chosen = chosen.where(Submission.status == status)
    if dataset is not None:
        chosen = chosen.where(Submission.results.any(Result.dataset == dataset))
    if custom is not None:
        chosen = chosen.where(Submission.custom.is_(custom))
    total = session.scalar(select(func.count()).select_from(chosen.subquery())) or 0
    return total, session.scalars(_page(chosen, page, per_page)).all()


def _page(chosen: Select[Any], page: int, per_page: int) -> Select[Any]:
    # The id decides between equal times: without it a row may be on two pages or none.
    ordered = chosen.order_by(Submission.received.desc(), Submission.id).options(
        joinedload(Submission.codec), joinedload(Submission.account)
    )
    return ordered.offset((page - 1) * per_page).limit(per_page)


def public(session: Session, identity: str) -> Submission | None:
    """Find a public submission with results and document."""
    statement = (
        select(Submission)
        .where(Submission.id == identity, Submission.status.in_(PUBLIC))
        .options(joinedload(Submission.codec), selectinload(Submission.results), undefer(Submission.document))
    )
    return session.scalars(statement).one_or_none()


def datasets_of(session: Session, identities: Sequence[str]) -> dict[str, list[str]]:
    """Names of the datasets of each submission, sorted."""
    statement = (
        select(Result.submission_id, Result.dataset)
        .where(Result.submission_id.in_(identities), Result.dataset != "")
        .order_by(Result.dataset)
        .distinct()
    )
    found: dict[str, list[str]] = {identity: [] for identity in identities}
    for identity, dataset in session.execute(statement):
        found[identity].append(dataset)
    return found


def decided_versions(
    session: Session, codec: str, *, page: int = 1, per_page: int = VERSIONS
) -> tuple[int, Sequence[Submission]]:
    """Count the submissions of a codec that are or were public, and return one page of them, newest version first."""
    chosen = select(Submission).join(Submission.codec).where(Codec.name == codec, SHOWN)
    total = session.scalar(select(func.count()).select_from(chosen.subquery())) or 0
    newest = chosen.order_by(Submission.version.desc()).options(joinedload(Submission.account))
    return total, session.scalars(newest.offset((page - 1) * per_page).limit(per_page)).all()


def previous_public(session: Session, submission: Submission) -> Submission | None:
    """Find the newest public version before this one: custom if this one is, under the same condition."""
    statement = (
        select(Submission)
        .where(
            Submission.codec_id == submission.codec_id,
            Submission.version < submission.version,
            Submission.custom.is_(submission.custom),
            Submission.condition == submission.condition,
            Submission.status.in_(PUBLIC),
        )
        .order_by(Submission.version.desc())
        .limit(1)
    )
    return session.scalars(statement).one_or_none()


class Conditioned(NamedTuple):
    """A submission under a condition, without its results."""

    id: str
    codec_id: int
    codec: str
    version: int
    condition: str


def under_conditions(session: Session, codec: str | None) -> Sequence[Conditioned]:
    """List the public submission that stands for each codec, or for one, under each condition, by codec and condition.

    Of all codecs also the verified ones behind it that were run on other datasets: one stands in front of another that
    has fewer of them. Custom ones are left out.
    """
    statement = (
        select(Submission.id, Submission.codec_id, Codec.name, Submission.version, Submission.condition)
        .join(Submission.codec)
        .where(NAMED, Submission.condition != "")
        # the last one of a codec and condition stays in the dict: the newest
        .order_by(Codec.name, Submission.condition, *STANDING)
    )
    found = session.execute(statement if codec is None else statement.where(Codec.name == codec))
    of = [*map(Conditioned._make, found)]
    standing = {(each.codec_id, each.condition): each for each in of}
    if codec is not None:
        return list(standing.values())
    kept = _on_other_datasets(session, {each.id for each in standing.values()}, {each.id for each in of})
    return [each for each in of if each.id in kept]


def _on_other_datasets(session: Session, standing: Collection[str], among: Collection[str]) -> Collection[str]:
    """Return those that stand, and of those behind them the best on each further choice of datasets.

    Of verified ones; and, under a name that nobody owns, of what stands for an account by its own word, where none of
    those before it has all of its datasets.
    """
    placed = (Submission.place < MOST_ORDERED) & Codec.owner_id.is_(None)
    also = (Submission.status == "verified") | placed
    behind = select(Submission.codec_id).join(Submission.codec)
    behind = behind.where(Submission.id.in_({*among} - {*standing}), also)
    codecs = {*session.scalars(behind)}
    if not codecs:
        return standing
    statement = (
        select(
            Submission.id, Submission.codec_id, Submission.condition, Submission.status,
            Submission.document["datasets"].label("datasets"),
        )
        .join(Submission.codec)
        .where(Submission.codec_id.in_(codecs), Submission.id.in_(among))
        .where(Submission.id.in_(standing) | also)
        .order_by(*(each.desc() for each in STANDING))
    )  # fmt: skip
    found: dict[tuple[object, ...], dict[Collection[object], str]] = {}
    for each in session.execute(statement):
        of_it = found.setdefault((each.codec_id, each.condition), {})
        on = frozenset((one["name"], one["manifest_hash"]) for one in each.datasets)
        if each.status == "verified" or not any(on <= frozenset(other) for other in of_it):
            of_it.setdefault(on, each.id)
    return {*standing, *(identity for of_it in found.values() for identity in of_it.values())}


def newest_clean(session: Session, codecs: Collection[int]) -> Sequence[str]:
    """List the public submission that stands for each of ``codecs``, and verified ones behind it on other datasets."""
    statement = (
        select(Submission.codec_id, Submission.id)
        .join(Submission.codec)
        .where(COUNTED, Submission.codec_id.in_(codecs))
        .order_by(Submission.codec_id, *STANDING)
    )
    found = session.execute(statement).all()
    kept = _on_other_datasets(session, {*{row.codec_id: row.id for row in found}.values()}, {row.id for row in found})
    return [row.id for row in found if row.id in kept]


def whole(session: Session, identities: Sequence[str]) -> Iterator[Submission]:
    """Yield submissions with results and document, a few at a time: a document has up to megabytes."""
    statement = select(Submission).options(
        joinedload(Submission.codec), selectinload(Submission.results), undefer(Submission.document)
    )
    for start in range(0, len(identities), _AT_ONCE):
        wanted = identities[start : start + _AT_ONCE]
        found = {each.id: each for each in session.scalars(statement.where(Submission.id.in_(wanted)))}
        yield from map(found.pop, wanted)


def blocks(session: Session, identity: str, dataset: str | None) -> Sequence[ClipBlock]:
    """Blocks of clip rows, of one dataset or of all; the data of each is read when it is asked for."""
    statement = select(ClipBlock).where(ClipBlock.submission_id == identity)
    if dataset is not None:
        statement = statement.where(ClipBlock.dataset == dataset)
    return session.scalars(statement.order_by(ClipBlock.dataset)).all()


def stored(database: Database, block: ClipBlock) -> StoredBlock:
    """Return what reads a block by its bytes, in the database, each time in a transaction of its own."""
    this = ClipBlock.submission_id == block.submission_id, ClipBlock.dataset == block.dataset

    def size() -> int:
        with database.transaction() as session:
            return session.scalar(select(func.length(ClipBlock.data)).where(*this)) or 0

    def read(start: int, count: int) -> bytes:
        with database.transaction() as session:
            if database.engine.dialect.name == "sqlite":
                return _of_sqlite(session, session.scalar(select(column("rowid")).where(*this)), start, count)
            # SQL counts from 1
            return session.scalar(select(func.substr(ClipBlock.data, start + 1, count)).where(*this)) or b""

    return StoredBlock((block.submission_id, block.dataset), block.rows, size, read)


def _of_sqlite(session: Session, row: int | None, start: int, count: int) -> bytes:
    # substr of SQLite reads the whole value: of 125 MB in 0.12 s, where this takes 0.02 s
    connection = session.connection().connection.driver_connection
    if row is None or connection is None:
        return b""
    with connection.blobopen(ClipBlock.__tablename__, ClipBlock.data.key, row, readonly=True) as blob:
        blob.seek(start)
        return bytes(blob.read(count))


def parts(session: Session, identity: str) -> Sequence[SubmissionPart]:
    """Parts of a submission, in their order; none of one file."""
    statement = select(SubmissionPart).where(SubmissionPart.submission_id == identity)
    return session.scalars(statement.order_by(SubmissionPart.number)).all()
