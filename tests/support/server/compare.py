"""Submissions with clip rows and sounds, stored as the service keeps them, for tests that read clips."""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import card, draw_rows, ok, sha
from support.server.databases import database_of_kind

from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.aggregates.metrics import Aggregates, DatasetAggregate, aggregate
from codec_superb.pipeline.submission.archive import write_archive
from codec_superb.pipeline.tables.clips import write_table
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.app import create_app
from codec_superb.server.database.models import PUBLIC, Account, ClipBlock, Codec, Result, Submission
from codec_superb.server.database.session import Database, record_change
from codec_superb.server.settings import Settings

_NUMBERS = itertools.count(1)


@contextmanager
def running_board(
    request: pytest.FixtureRequest, folder: Path, fill: Callable[[Session, Settings], None]
) -> Iterator[TestClient]:
    """Run the service on a database of the kind ``request.param``, filled once for many tests that only read."""
    with ExitStack() as stack:
        url = stack.enter_context(database_of_kind(request, folder))
        # nobody is refused, and all that is stored shows
        usual: dict[str, Any] = {"computations_per_minute": 100_000, "default_source": "runs"}
        settings = Settings(database=url, storage=folder / "storage", secret_key="x" * 40, **usual)
        database = Database(url)
        with database.transaction(write=True) as session:
            fill(session, settings)
        database.close()
        yield stack.enter_context(TestClient(create_app(settings)))


def store(
    session: Session,
    name: str,
    rows: Sequence[ClipRow],
    *,
    status: str = "self-reported",
    hashes: Mapping[str, str] | None = None,
    versions: Mapping[str, str] | None = None,
    sounds: Mapping[str, bytes] | None = None,
    reference: bytes = b"",
    files: Path | None = None,
    name_of_card: str = "",
    sender: str = "",
    whole: Mapping[str, int] | None = None,
    **card_fields: Any,
) -> Submission:
    """Store the next version of a codec's results with aggregates, blocks and, in ``files``, the zip of its sounds.

    ``hashes`` replaces manifest hashes by dataset, ``versions`` those of metrics; ``sounds`` maps clip ids to Ogg Opus,
    beside one ``reference`` or a tone of 200 Hz.
    ``name_of_card`` stands in the card of a codec whose name no card may have; ``sender`` is an account, ``whole`` the
    number of clips of datasets of which ``rows`` has fewer.
    """
    codec = session.scalars(select(Codec).where(Codec.name == name)).one_or_none() or Codec(name=name)
    session.add(codec)
    session.flush()
    before = session.scalars(select(Submission.version).where(Submission.codec_id == codec.id)).all()
    identity = f"s{next(_NUMBERS):011d}"
    keys = sorted({key for row in rows for key in row.metrics})
    members, samples = _samples(rows, sounds or {}, reference)
    submission = Submission(
        id=identity,
        codec=codec,
        version=max(before, default=0) + 1,
        file_sha256=sha(identity),
        file_size=1000,
        status=status,
        account=_account(session, sender) if sender else None,
        submitter="The testers",
        created="2025-01-02T03:04:05+00:00",
        card=card(name_of_card or name, **card_fields).model_dump(mode="json"),
        document={"datasets": _datasets(rows, hashes or {}, whole or {}), "samples": samples},
        metrics={key: METRICS[key].version for key in keys} | dict(versions or {}),
        clips=len(rows),
        ok=len(rows),
        failed=0,
        complete=True,
        warnings=[],
        notes=[],
        results=_results(aggregate(rows, metrics=keys, expected=whole)),
    )
    session.add(submission)
    session.flush()
    for dataset in sorted({row.dataset for row in rows}):
        mine = sorted((row for row in rows if row.dataset == dataset), key=lambda row: row.clip)
        session.add(ClipBlock(submission_id=identity, dataset=dataset, rows=len(mine), data=block(mine, keys)))
    if files is not None:
        files.mkdir(parents=True, exist_ok=True)
        with (files / f"{sha(identity)}.zip").open("wb") as out:
            write_archive(out, members | {"clips.parquet": b"", "submission.json": b"{}"})
    if status in PUBLIC:
        record_change(session, identity, status)
    return submission


def block(rows: Sequence[ClipRow], keys: Sequence[str]) -> bytes:
    """Write rows as the service stores them: the layout of ``clips.parquet``, compressed with Zstandard."""
    plain, out = io.BytesIO(), io.BytesIO()
    write_table(plain, rows, keys)
    pq.write_table(pq.read_table(io.BytesIO(plain.getvalue())), out, compression="zstd")
    return out.getvalue()


def shifted(rows: Sequence[ClipRow], key: str, by: float) -> list[ClipRow]:
    """Add a constant to one metric of every clip."""
    changed_rows = []
    for row in rows:
        value = row.metrics[key].value
        assert value is not None
        changed_rows.append(row.model_copy(update={"metrics": row.metrics | {key: ok(value + by)}}))
    return changed_rows


def rows_of(seed: int = 1, clips: int = 30, **choices: Any) -> list[ClipRow]:
    """Draw rows as in the tests of statistics."""
    return draw_rows(seed, clips, **choices)


def tone(hertz: float, *, title: str = "") -> bytes:
    """Encode a fifth of a second of a tone as Ogg Opus, with a title in its tags."""
    time = np.arange(9600) / 48000
    signal = (0.2 * np.sin(2 * np.pi * hertz * time)).astype(np.float32)
    out = io.BytesIO()
    with av.open(out, "w", format="ogg") as container:
        container.metadata["title"] = title
        stream = container.add_stream("libopus", rate=48000, layout="mono")
        stream.metadata["title"] = title
        frame = av.AudioFrame.from_ndarray(signal[np.newaxis], format="flt", layout="mono")
        frame.sample_rate = 48000
        fifo = av.AudioFifo()
        fifo.write(frame)
        for piece in [*fifo.read_many(960, partial=True), None]:
            container.mux(stream.encode(piece))
    return out.getvalue()


def _samples(
    rows: Sequence[ClipRow], sounds: Mapping[str, bytes], original: bytes
) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    members, samples = {}, []
    by_clip = {row.clip: row for row in rows}
    for number, (clip, sound) in enumerate(sounds.items()):
        reference = original or tone(200, title="the reference")
        names = {side: f"samples/{number:02}-{side}.ogg" for side in ("reference", "resynthesis")}
        members |= {names["reference"]: reference, names["resynthesis"]: sound}
        samples.append({
            "dataset": by_clip[clip].dataset, "clip": clip, "category": by_clip[clip].category,
            "licence": "CC0-1.0", "attribution": "by the tests", **names,
            "reference_sha256": hashlib.sha256(reference).hexdigest(),
            "resynthesis_sha256": hashlib.sha256(sound).hexdigest(),
        })  # fmt: skip
    return members, samples


def _account(session: Session, name: str) -> Account:
    found = session.scalars(select(Account).where(Account.name == name)).one_or_none() or Account(name=name)
    session.add(found)
    return found


def _datasets(rows: Sequence[ClipRow], hashes: Mapping[str, str], whole: Mapping[str, int]) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.dataset] = counts.get(row.dataset, 0) + 1
    return [
        {
            "name": name, "title": name.title(), "manifest_hash": hashes.get(name, sha(name)),
            "clips": whole.get(name, count),
            "selected": count, "ok": count, "failed": 0, "undefined": 0, "licence": "CC0-1.0", "homepage": None,
            "citation": None, "spec_hash": sha(name), "provenance": [],
        }
        for name, count in sorted(counts.items())
    ]  # fmt: skip


def _results(found: Aggregates) -> list[Result]:
    rows = [_result(part, part.dataset, (part.dataset,)) for part in found.datasets]
    for category in found.categories:
        parts = [part for part in found.datasets if part.category == category.category]
        whole = _result(parts[0], "", category.datasets)
        whole.kbps, whole.complete = category.kbps, category.complete
        whole.score, whole.low, whole.high = category.score.value, category.score.low, category.score.high
        whole.clips = sum(part.clips for part in parts)
        rows.append(whole)
    return rows


def _result(part: DatasetAggregate, dataset: str, datasets: Sequence[str]) -> Result:
    same = ("category", "complete", "clips", "ok", "failed", "seconds", "kbps", "tokens_per_second")
    also = ("compression_ratio", "encode_rtf", "decode_rtf", "largest_lag", "clipped_samples")
    fields = {name: getattr(part, name) for name in (*same, *also)}
    metrics = {}
    for key, found in part.metrics.items():
        metrics[key] = found.model_dump()
    score = part.score
    return Result(
        dataset=dataset, datasets=list(datasets), score=score.value, low=score.low, high=score.high,
        metrics=metrics, **fields,
    )  # fmt: skip
