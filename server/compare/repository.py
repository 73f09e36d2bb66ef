"""Database queries of a comparison: public codecs, their newest submission, its rows and samples."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import Session, joinedload

from codec_superb.base_codec.card import Card
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.aggregates.metrics import Aggregates, CategoryAggregate
from codec_superb.pipeline.comparison.results import ResultDataset, Results
from codec_superb.pipeline.runs.info import DatasetInfo
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification.statement import SAMPLES
from codec_superb.server.database.models import (
    COUNTED,
    STANDING,
    Account,
    ClipBlock,
    Codec,
    Result,
    Revision,
    Submission,
)
from codec_superb.server.database.results import to_summary
from codec_superb.server.database.run_again import not_run_again
from codec_superb.server.datasets.credits import credited
from codec_superb.server.storage.clip_blocks import block_columns, block_rows

OF_ACCOUNT = 2
"""Submissions of an account whose samples are looked at."""


def revision(session: Session) -> int:
    """Return the number of the state of the public data."""
    return session.scalars(select(Revision.number)).one()


def public_names(session: Session) -> list[str]:
    """List the codecs that have public results, sorted."""
    statement = select(Codec.name).join(Submission).where(COUNTED).distinct().order_by(Codec.name)
    return list(session.scalars(statement))


def newest_public(session: Session, names: Collection[str]) -> dict[str, Submission]:
    """Find the newest public submission of each codec; a name without one is absent."""
    statement = (
        select(Submission)
        .join(Submission.codec)
        .where(Codec.name.in_(names), COUNTED)
        .options(joinedload(Submission.codec))
        .order_by(*STANDING)
    )
    return {submission.codec.name: submission for submission in session.scalars(statement)}


def newest_of_families(session: Session, families: Collection[str]) -> list[Submission]:
    """Find the newest public submission of every codec of the families, sorted by the codec's name."""
    statement = (
        select(Submission)
        .join(Submission.codec)
        # as_string: JSON operators differ between SQLite and PostgreSQL.
        .where(Submission.card["family"].as_string().in_(families), COUNTED)
        .options(joinedload(Submission.codec))
        .order_by(*STANDING)
    )
    newest = {submission.codec.name: submission for submission in session.scalars(statement)}
    return [newest[name] for name in sorted(newest)]


def category_results(session: Session, submissions: Collection[str]) -> dict[str, list[Result]]:
    """Find the aggregates over all datasets, by submission, in the order of the categories."""
    found: dict[str, list[Result]] = {submission: [] for submission in submissions}
    statement = select(Result).where(Result.submission_id.in_(submissions), Result.dataset == "")
    for row in sorted(session.scalars(statement), key=lambda row: CATEGORIES.index(row.category)):
        found[row.submission_id].append(row)
    return found


def datasets_of(session: Session, submissions: Collection[str]) -> dict[str, list[DatasetInfo]]:
    """Find which datasets the submissions are over, and which state of each."""
    statement = select(Submission.id, Submission.document["datasets"]).where(Submission.id.in_(submissions))
    return {key: [_info(entry) for entry in entries] for key, entries in session.execute(statement)}


def samples_of(session: Session, submission: str) -> list[dict[str, Any]]:
    """Return the listening samples that the submission's file carries, with the credits that this service knows."""
    document = session.scalars(select(Submission.document).where(Submission.id == submission)).one()
    return list(credited(session, document)["samples"])


def first_samples(
    session: Session, most: int, besides: Collection[str], datasets: Collection[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield samples, each with who sent it: of the submissions ``besides`` and the first public ones on ``datasets``.

    These are ``most`` in number, :data:`OF_ACCOUNT` of each account, so that many of one leave the others room. A
    verified submission is its own sender, but for samples that running again held to limits alone: those are its
    account's word.
    """
    verified = case((Submission.status == "verified", Submission.id), else_=None)
    turn = func.row_number().over(partition_by=(verified, Submission.account_id), order_by=Submission.received)
    known = exists().where(Result.submission_id == Submission.id, Result.dataset.in_(sorted(datasets)))
    ordered = select(Submission.id, Submission.received, turn.label("turn")).where(COUNTED, known).subquery()
    first = select(ordered.c.id).where(ordered.c.turn <= OF_ACCOUNT).order_by(ordered.c.received).limit(most)
    wanted = {*besides, *session.scalars(first)}
    columns = Submission.id, Submission.status, Account.name, Submission.document["samples"]
    found = select(*columns, Submission.document["datasets"]).outerjoin(Submission.account)
    rows = session.execute(found.where(Submission.id.in_(wanted))).all()
    own_word = not_run_again(session, {row.id: row[4] for row in rows if row.status == "verified"})
    for identity, status, account, samples, _ in rows:
        for sample in samples or ():
            again = status == "verified" and (sample["dataset"], SAMPLES) not in own_word.get(identity, ())
            yield f"verified:{identity}" if again else account or "", sample


def results_with_rows(session: Session, submission: Submission) -> Results:
    """Read a submission with all of its clip rows."""
    blocks = session.execute(select(ClipBlock.dataset, ClipBlock.data).where(ClipBlock.submission_id == submission.id))
    rows = [row for dataset, data in blocks for row in block_rows(data, f"{submission.id} on {dataset}")]
    return _results(submission, datasets_of(session, [submission.id])[submission.id], rows, ())


def clips_of(session: Session, submission: str, category: Category) -> str:
    """Name the clips of a category that a submission has rows of: a hash, which is equal for equal clips."""
    statement = select(ClipBlock.dataset, ClipBlock.data).where(ClipBlock.submission_id == submission)
    found = []
    for dataset, data in session.execute(statement):
        block = block_columns(data, ())
        found += [(dataset, clip) for clip, of in zip(block.clips, block.categories, strict=True) if of == category]
    return sha256(repr(sorted(found)).encode()).hexdigest()


def results_without_rows(
    submission: Submission, datasets: Sequence[DatasetInfo], aggregates: Sequence[Result]
) -> Results:
    """Describe a submission by its category scores alone."""
    return _results(submission, datasets, (), aggregates)


def _results(
    submission: Submission, datasets: Sequence[DatasetInfo], rows: Sequence[ClipRow], aggregates: Sequence[Result]
) -> Results:
    source = Path(f"{submission.file_sha256}.zip")
    metrics = {str(key): str(version) for key, version in submission.metrics.items()}
    return Results(
        card=Card.model_validate(submission.card),
        datasets=tuple(
            ResultDataset(info=info, custom=False, metrics=metrics, provenance=(), source=source)
            for info in sorted(datasets, key=lambda info: info.name)
        ),
        rows=tuple(rows),
        metrics=metrics,
        aggregates=Aggregates(categories=tuple(_category(row) for row in aggregates)),
    )


def _category(row: Result) -> CategoryAggregate:
    return CategoryAggregate.model_validate(to_summary(row).model_dump(include=set(CategoryAggregate.model_fields)))


def _info(entry: dict[str, Any]) -> DatasetInfo:
    """Convert a dataset of the document into one of the pipeline's results."""
    return DatasetInfo.model_validate({key: entry[key] for key in DatasetInfo.model_fields if key in entry})
