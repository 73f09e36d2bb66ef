"""A real submission with sounds, stored as the service stores one: file, results and clip blocks."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow.parquet as pq
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support_stats import card, draw_rows, failed, sha, with_audio, write_run

from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.aggregate import aggregate
from codec_superb.pipeline.category_summary import Summary, summarise, summarise_dataset
from codec_superb.pipeline.clip_table import open_table, write_table
from codec_superb.pipeline.rows import ClipRow
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import CLIPS_NAME, SUBMISSION_NAME, Submitter
from codec_superb.pipeline.submission.schema import Submission as Document
from codec_superb.server.database.models import PUBLIC, ClipBlock, Codec, Result, Submission
from codec_superb.server.database.session import changed

NOBODY: Mapping[str, Any] = MappingProxyType({})


def packed(
    folder: Path, name: str = "opus_16k", *, clips: int = 9, samples: int = 3, quality: float = 0.0,
    broken: Sequence[int] = (), expected: int | None = None, card_fields: Mapping[str, Any] = NOBODY,
    other_dataset: Sequence[Category] = (),
) -> Path:  # fmt: skip
    """Pack a run of ``clips`` drawn clips with sound on the dataset ``mini``; clips in ``broken`` failed.

    ``expected`` is how many clips the dataset has; ``other_dataset`` adds a run on a second one, without sound.
    """
    folder.mkdir(parents=True, exist_ok=True)
    codec = card(name, **card_fields)
    rows = draw_rows(1, clips, quality=quality)
    rows = [failed(row.clip, category=row.category) if at in broken else row for at, row in enumerate(rows)]
    run = write_run(folder, rows, card=codec, clips=expected or clips)
    dataset = with_audio(run, [row for row in rows if row.status == "ok"], folder / "audio")
    if broken:
        stored = {row.clip: row for row in run.rows()}
        run.write_rows((stored.get(row.clip, row).model_dump(mode="json") for row in rows), sorted(rows[-1].metrics))
    runs = [run]
    if other_dataset:
        more = draw_rows(2, clips, dataset="another", quality=quality, categories=other_dataset)
        runs.append(write_run(folder, more, card=codec, citation="@misc{another, title = {Another}}"))
    datasets: Any = {"mini": dataset}
    if other_dataset:
        datasets["another"] = type(dataset)({}, name="another", manifest_hash=sha("another"))
        if samples:  # a second dataset without sound cannot be asked for samples
            raise ValueError("expected no samples of two datasets")
    return pack(runs, folder / f"{name}.zip", submitter=Submitter(name="Ann"), samples=samples, datasets=datasets)


def store(
    session: Session, files: Path, file: Path, *, status: str = "published",
    change: Callable[[dict[str, Any]], None] = lambda document: None,
) -> str:  # fmt: skip
    """Store a packed file as the next version of its codec; return the id. ``change`` edits the stored document."""
    members = read_archive(file)
    document = Document.model_validate_json(members[SUBMISSION_NAME])
    rows = list(open_table(io.BytesIO(members[CLIPS_NAME])))
    digest = sha256(file.read_bytes()).hexdigest()
    files.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, files / f"{digest}.zip")
    codec = session.scalars(select(Codec).where(Codec.name == document.codec.name)).one_or_none()
    if codec is None:
        codec = Codec(name=document.codec.name)
        session.add(codec)
        session.flush()
    version = session.scalar(select(func.max(Submission.version)).where(Submission.codec_id == codec.id)) or 0
    kept = document.model_dump(mode="json", exclude={"codec", "aggregates"})
    change(kept)
    identity = sha(f"{digest} {version}")[:10]
    results = _results(rows, document)
    stored = Submission(
        id=identity, codec=codec, version=version + 1, file_sha256=digest, file_size=file.stat().st_size,
        status=status, submitter=document.submitter.name if document.submitter else "", created=document.created,
        card=document.codec.model_dump(mode="json"), document=kept, metrics=dict(document.metrics), clips=len(rows),
        ok=sum(row.status == "ok" for row in rows), failed=sum(row.status == "failed" for row in rows),
        complete=all(result.complete for result in results), warnings=[], notes=[], results=results,
    )  # fmt: skip
    session.add(stored)
    session.flush()
    session.add_all(_blocks(identity, rows, document))
    if status in PUBLIC:
        changed(session)
    return identity


def _results(rows: Sequence[ClipRow], document: Document) -> list[Result]:
    expected = {dataset.name: dataset.clips for dataset in document.datasets}
    found = aggregate(rows, metrics=list(document.metrics), expected=expected)
    by_category = [_result(summarise(found, entry), "") for entry in found.categories]
    return by_category + [_result(summarise_dataset(part), part.dataset) for part in found.datasets]


def _result(summary: Summary, dataset: str) -> Result:
    fields = summary.model_dump(exclude={"score", "metrics", "datasets"})
    metrics = {
        key: {"value": metric.mean, **metric.model_dump(exclude={"mean"})} for key, metric in summary.metrics.items()
    }
    return Result(
        **fields, dataset=dataset, datasets=list(summary.datasets), metrics=metrics,
        score=summary.score.value, low=summary.score.low, high=summary.score.high,
    )  # fmt: skip


def _blocks(identity: str, rows: Sequence[ClipRow], document: Document) -> list[ClipBlock]:
    blocks = []
    for dataset in document.datasets:
        mine = sorted((row for row in rows if row.dataset == dataset.name), key=lambda row: row.clip)
        plain, dense = io.BytesIO(), io.BytesIO()
        write_table(plain, mine, document.metrics)
        plain.seek(0)
        pq.write_table(pq.read_table(plain), dense, compression="zstd")
        blocks.append(ClipBlock(submission_id=identity, dataset=dataset.name, rows=len(mine), data=dense.getvalue()))
    return blocks


__all__ = ["CATEGORIES", "packed", "store"]
