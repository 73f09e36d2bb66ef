"""Finds and describes accepted submissions for the API and for pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from codec_superb.pipeline.submission.parts.reading import part_name
from codec_superb.server.database.models import PUBLIC, Result, Submission
from codec_superb.server.database.results import to_summary
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.credits import credited
from codec_superb.server.errors import BadRequest, FileMissing, NotFound
from codec_superb.server.settings import Settings
from codec_superb.server.storage.block_parts import StoredBlock
from codec_superb.server.storage.submission_files import public_file, ready_to_send, submission_path
from codec_superb.server.submissions import repository
from codec_superb.server.submissions.schemas import (
    AggregateChange,
    CategoryResults,
    Change,
    Diff,
    History,
    SubmissionDetail,
    SubmissionItem,
    SubmissionList,
    SubmissionVersion,
)

_QUANTITIES = (
    *("kbps", "tokens_per_second", "compression_ratio", "encode_rtf", "decode_rtf", "seconds"),
    *("clips", "ok", "failed", "largest_lag", "clipped_samples"),
)
_COUNTED = ("manifest_hash", "clips", "selected", "ok", "failed", "undefined")


def listed(
    session: Session,
    *,
    page: int,
    per_page: int,
    codec: str | None = None,
    status: str | None = None,
    dataset: str | None = None,
    custom: bool | None = None,
) -> SubmissionList:
    """List public submissions, newest first; ``custom`` None lists those that are and those that are not."""
    total, found = repository.public_page(
        session, codec=codec, status=status, dataset=dataset, custom=custom, page=page, per_page=per_page
    )
    return SubmissionList(total=total, page=page, per_page=per_page, submissions=_items(session, found))


def find(session: Session, identity: str) -> Submission:
    """Find a public submission. Raises NotFound for any other: a pending one looks like a missing one."""
    found = repository.public(session, identity)
    if found is None:
        raise NotFound(f"no public submission has the id {identity[:20]!r}")
    return found


def detail(session: Session, identity: str) -> SubmissionDetail:
    """Describe a public submission with all its results."""
    found = find(session, identity)
    (item,) = _items(session, [found])
    return SubmissionDetail(
        **item.model_dump(),
        created=found.created,
        file_sha256=found.file_sha256,
        file_size=found.file_size,
        card=found.card,
        metrics=found.metrics,
        document=credited(session, found.document),
        notes=found.notes,
        reason=found.reason,
        results=_categories(found.results),
    )


def _categories(rows: Sequence[Result]) -> list[CategoryResults]:
    """Put the results of each category together, in the order of the submission."""
    return [
        CategoryResults(
            category=row.category,
            overall=to_summary(row),
            datasets=[to_summary(part) for part in rows if part.dataset and part.category == row.category],
        )
        for row in rows
        if not row.dataset
    ]


def download(session: Session, settings: Settings, identity: str) -> tuple[Path, str]:
    """Return the file to send for a public submission and a name for it."""
    found = find(session, identity)
    with ready_to_send():
        path = public_file(settings, found.file_sha256, has_contact=found.contact is not None)
    return path, _file_name(found)


def download_part(session: Session, settings: Settings, identity: str, number: int) -> tuple[Path, str]:
    """Return a part of a public submission to send and a name for it, by which it is found beside the file.

    Raises NotFound, and FileMissing where it is not in its place.
    """
    found, parts = find(session, identity), repository.parts(session, identity)
    if not 1 <= number <= len(parts):
        have = f"{len(parts)} parts" if parts else "no parts"
        raise NotFound(f"submission {found.id} has {have}, got {number}")
    with ready_to_send():
        path = submission_path(settings, sha256 := parts[number - 1].sha256)
    if not path.exists():
        raise FileMissing(sha256)
    return path, part_name(_file_name(found), number, len(parts))


def _file_name(found: Submission) -> str:
    marks = ("-custom" if found.custom else "") + ("-condition" if found.condition else "")
    return f"{found.codec.name}-v{found.version}{marks}.zip"


@dataclass(frozen=True, slots=True)
class ClipBlocks:
    """Rows of a submission where they are stored."""

    custom: bool
    total: int
    """Rows of all blocks."""
    blocks: tuple[StoredBlock, ...]


def clip_blocks(database: Database, identity: str, dataset: str | None) -> ClipBlocks:
    """Find the blocks of a public submission. Raises NotFound, also for a dataset that it lacks."""
    with database.transaction() as session:
        custom = find(session, identity).custom
        found = repository.blocks(session, identity, dataset)
    if not found:
        raise NotFound(f"submission {identity} has no clips of a dataset {dataset!r:.60}")
    stored = tuple(repository.stored(database, block) for block in found)
    return ClipBlocks(custom, sum(block.rows for block in found), stored)


def history(session: Session, codec: str, *, page: int = 1, per_page: int = repository.VERSIONS) -> History:
    """List a page of the versions of a codec's results, the newest first, but those that wait, or never were public.

    Raises NotFound for a codec without any.
    """
    total, found = repository.decided_versions(session, codec, page=page, per_page=per_page)
    if not total:
        raise NotFound(f"there are no results of a codec {codec[:60]!r}")
    versions = [
        SubmissionVersion(
            version=entry.version,
            id=entry.id if entry.status in PUBLIC else None,
            custom=entry.custom,
            condition=entry.condition,
            status=entry.status,
            received=entry.received,
            decided=entry.decided,
            reason=entry.told_reason or None,
        )
        for entry in found
    ]
    return History(codec=codec, total=total, page=page, per_page=per_page, versions=versions)


def diff(session: Session, old_id: str, new_id: str) -> Diff:
    """Compare two public versions of one codec's results. Raises NotFound, BadRequest for two codecs."""
    old, new = find(session, old_id), find(session, new_id)
    if old.codec_id != new.codec_id:
        raise BadRequest(
            f"expected two versions of one codec, got {old.codec.name} and {new.codec.name}; "
            f"compare codecs at /compare?codec={old.codec.name}&codec={new.codec.name}"
        )
    return Diff(
        codec=old.codec.name,
        old=_items(session, [old])[0],
        new=_items(session, [new])[0],
        card=list(_changes(old.card, new.card)),
        datasets=list(_changes(_datasets(old), _datasets(new))),
        metrics=list(_changes(old.metrics, new.metrics)),
        aggregates=list(_aggregates(old.results, new.results)),
    )


def _items(session: Session, found: Sequence[Submission]) -> list[SubmissionItem]:
    datasets = repository.datasets_of(session, [entry.id for entry in found])
    return [
        SubmissionItem(
            id=entry.id,
            codec=entry.codec.name,
            version=entry.version,
            status=entry.status,
            received=entry.received,
            submitter=entry.sender,
            submitter_in_file=entry.submitter,
            datasets=datasets[entry.id],
            clips=entry.clips,
            ok=entry.ok,
            failed=entry.failed,
            complete=entry.complete,
            custom=entry.custom,
            condition=entry.condition,
        )
        for entry in found
    ]


def _changes(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    """Yield what differs, by name."""
    for name in sorted(set(old) | set(new)):
        if old.get(name) != new.get(name):
            yield Change(what=name, old=old.get(name), new=new.get(name))


def _datasets(submission: Submission) -> dict[str, Any]:
    """State and counts of each dataset, flat, so that only what differs is shown."""
    return {
        f"{dataset['name']}: {field}": dataset[field]
        for dataset in submission.document["datasets"]
        for field in _COUNTED
    }


def _aggregates(old: Sequence[Result], new: Sequence[Result]) -> Iterator[AggregateChange]:
    before, after = (({(row.category, row.dataset): _numbers(row) for row in rows}) for rows in (old, new))
    for key in dict.fromkeys([*before, *after]):
        one, two = before.get(key, {}), after.get(key, {})
        for quantity in dict.fromkeys([*one, *two]):
            was, became = one.get(quantity), two.get(quantity)
            yield AggregateChange(
                category=key[0],
                dataset=key[1],
                quantity=quantity,
                old=was,
                new=became,
                difference=became - was if was is not None and became is not None else None,
            )


def _numbers(row: Result) -> dict[str, float | None]:
    summary = to_summary(row)
    numbers: dict[str, float | None] = {name: getattr(summary, name) for name in _QUANTITIES}
    return {"score": summary.score.value, **numbers, **{key: found.mean for key, found in summary.metrics.items()}}
