"""One clip through several codecs: its rows side by side."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.compare.repository import datasets_of
from codec_superb.server.database.models import ClipBlock, Submission
from codec_superb.server.errors import NotFound
from codec_superb.server.storage.clip_blocks import block_row
from codec_superb.web.rows import source_label
from codec_superb.web.site.clip import ClipColumn, ClipValue, ComparedClip


def compared_clip(session: Session, submissions: Sequence[Submission], dataset: str, clip: str) -> ComparedClip:
    """Find the rows of a clip. NotFound where no codec has one."""
    if not dataset.isprintable():  # PostgreSQL raises on a zero character in a query parameter
        raise NotFound("expected the name of a dataset")
    keys = [submission.id for submission in submissions]
    statement = select(ClipBlock).where(ClipBlock.submission_id.in_(keys), ClipBlock.dataset == dataset)
    blocks = {block.submission_id: block for block in session.scalars(statement)}
    states = datasets_of(session, keys)
    columns, categories = [], []
    for submission in submissions:
        block = blocks.get(submission.id)
        row = block_row(block.data, clip, f"{submission.id} on {dataset}") if block else None
        state = next((info.manifest_hash for info in states[submission.id] if info.name == dataset), "")
        columns.append(_column(submission, row, state))
        categories += [row.category] if row else []
    if not categories:
        raise NotFound(f"none of the codecs has a clip {clip[:200]!r} of a dataset {dataset[:200]!r}")
    keys_present = [key for key in METRICS if any(key in column.metrics for column in columns)]
    same = len({column.state for column in columns if column.present}) == 1
    return ComparedClip(dataset, clip, categories[0], keys_present, columns, same)


def _column(submission: Submission, row: ClipRow | None, state: str) -> ClipColumn:
    name, title = submission.codec.name, str(submission.card["title"])
    source = source_label(submission.status, submission.sender)
    if row is None:
        return ClipColumn(name, title, state, "absent", "", None, None, None, {}, source)
    return ClipColumn(
        codec=name,
        title=title,
        state=state,
        status=row.status,
        error=f"{row.stage}: {row.error_type} {row.error}".strip(": ") if row.status == "failed" else "",
        kbps=row.kbps,
        seconds=row.seconds,
        lag_samples=row.lag_samples,
        metrics={
            key: ClipValue(value.status, value.value, value.reason)
            for key, value in row.metrics.items()
            if key in METRICS
        },
        source=source,
    )
