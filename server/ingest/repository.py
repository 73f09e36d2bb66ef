"""Database rows of a new submission: found, counted and made in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from codec_superb.metrics.table import METRICS
from codec_superb.server.database.models import ClipBlock, Codec, Result, Submission
from codec_superb.server.database.results import to_row
from codec_superb.server.ingest.outcome import Accepted, Checked
from codec_superb.server.storage.custom_results import document_of
from codec_superb.server.storage.custom_tasks import parts_of

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_ID_LENGTH = 12  # 62 bits


def by_hash(session: Session, sha256: str) -> Submission | None:
    """Find the submission made from a file."""
    statement = select(Submission).where(Submission.file_sha256 == sha256).options(joinedload(Submission.codec))
    return session.scalars(statement).one_or_none()


def codec_by_name(session: Session, name: str, *, lock: bool = False) -> Codec | None:
    """Find a codec; ``lock`` keeps others from counting its versions until the transaction ends."""
    statement = select(Codec).where(Codec.name == name)
    return session.scalars(statement.with_for_update() if lock else statement).one_or_none()


def next_version(session: Session, codec: Codec) -> int:
    """Count the versions of a codec that is locked."""
    return (session.scalar(select(func.max(Submission.version)).where(Submission.codec_id == codec.id)) or 0) + 1


def new_id() -> str:
    """Draw an id: 62 bits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))


def submission_columns(accepted: Accepted) -> dict[str, object]:
    """Columns of a submission that follow from its file."""
    submission = accepted.submission
    whole = submission.model_dump(mode="json")
    submitter = submission.submitter
    if submitter:
        whole["submitter"]["contact"] = None  # shown to moderators alone; stored in its own column
    return {
        "submitter": submitter.name if submitter else "",
        "contact": submitter.contact if submitter else None,
        "created": submission.created,
        "custom": submission.kind == "custom",
        "condition": submission.condition.label if submission.condition else "",
        "card": whole["codec"],
        "document": {
            **{name: value for name, value in whole.items() if name not in {"codec", "aggregates"}},
            **parts_of(submission, whole),
            **document_of(submission, accepted.datasets),
        },
        "metrics": {key: version for key, version in submission.metrics.items() if key in METRICS},
        "clips": accepted.clips,
        "ok": accepted.ok,
        "failed": accepted.failed,
        "complete": accepted.complete,
    }


def results(accepted: Accepted) -> Iterator[Result]:
    """Rows of each category over all datasets (``dataset`` is ''), then of each dataset.

    Without codebooks there is nothing of which the tokens are: they are in the clip rows alone.
    """
    hidden = {"tokens_per_second": None} if accepted.submission.codec.codebooks is None else {}
    for summary in accepted.categories:
        yield to_row(summary.model_copy(update=hidden), "")
    for summary in accepted.datasets:
        yield to_row(summary.model_copy(update=hidden), summary.datasets[0])


def blocks(identity: str, checked: Checked) -> Iterable[ClipBlock]:
    """Blocks of clip rows."""
    infos = checked.outcome.accepted.blocks if checked.outcome.accepted else ()
    for info, data in zip(infos, checked.blocks, strict=True):
        yield ClipBlock(submission_id=identity, dataset=info.dataset, rows=info.rows, data=data)
