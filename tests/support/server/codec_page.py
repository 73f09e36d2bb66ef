"""Real submissions with sounds: packed from runs, examined and stored by the service's own code."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI
from httpx2 import Response
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import card, draw_rows, failed, sha, with_audio, write_run
from support.server.board import make_submission

from codec_superb.base_codec.card import Card
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submitter
from codec_superb.pipeline.submission.schema import Submission as Document
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.database.models import PUBLIC, Codec, Submission, now
from codec_superb.server.database.session import Database, record_change
from codec_superb.server.datasets.clips import pack_clips
from codec_superb.server.datasets.service import DatasetFacts, add
from codec_superb.server.ingest import repository
from codec_superb.server.ingest.examine import run
from codec_superb.server.ingest.outcome import Checked, read_outcome
from codec_superb.server.ingest.task import write_task
from codec_superb.server.settings import Settings

NOTHING: Mapping[str, Any] = MappingProxyType({})
LIMIT = 100_000_000
EVIL = '</script><b>"bold"</b> & co'
"""A title that would break out of a page that does not escape."""


@dataclass(frozen=True)
class Packed:
    """Submission files."""

    first: Path
    """``opus_16k``, 9 clips of 30, 2 samples: partial."""
    second: Path
    """The same codec, better, with a failed clip of 12 in a dataset of 30: partial."""
    tokens: Path
    """``encodec_24k_6bps``, with tokens, on two datasets."""
    evil: Path
    """A codec whose texts are hostile."""


@dataclass(frozen=True)
class Stored:
    """Ids of what the database holds."""

    first: str
    second: str
    tokens: str
    evil: str
    pending: str


@dataclass(frozen=True)
class Site:
    """A running service and what is in it."""

    app: FastAPI
    client: TestClient
    stored: Stored
    database: Database
    settings: Settings

    def get(self, path: str, **headers: str) -> Response:
        """Ask it; names of headers with ``_`` for ``-``."""
        found: Response = self.client.get(
            path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        return found


def fill(database: Database, settings: Settings, files: Packed) -> Stored:
    """Store two versions of one codec, two others, a pending one, and neighbours on the board."""
    with database.transaction(write=True) as session:
        add(session, DatasetFacts("mini", "Mini set", "CC0-1.0", clips_of("mini", 30)))
        cite = "@misc{another, title = {Another}}"
        add(session, DatasetFacts("another", "Another", "CC-BY-4.0", clips_of("another", 9), citation=cite))
        found = Stored(
            first=store(session, settings.files, files.first),
            second=store(session, settings.files, files.second, reason="looks right"),
            tokens=store(session, settings.files, files.tokens, status="verified"),
            evil=store(session, settings.files, files.evil),
            pending=make_submission(session, "opus_6k", 6, 0.6, status="pending"),
        )
        make_submission(session, "opus_20k", 20, 0.8)
        make_submission(session, "mp3_16k", 16, 0.6, datasets={"elsewhere": ("speech",)})
        make_submission(session, "opus_64k", 64, 0.9)
    return found


def clips_of(dataset: str, clips: int, categories: Sequence[Category] = CATEGORIES) -> KnownDataset:
    """Describe the dataset that :func:`packed` runs on, as a service knows it."""
    rows = draw_rows(0, clips, dataset=dataset, categories=categories)
    return KnownDataset(sha(dataset), {row.clip: KnownClip(row.category) for row in rows})


def packed(
    folder: Path, name: str = "opus_16k", *, clips: int = 9, samples: int = 3, quality: float = 0.0,
    broken: Sequence[int] = (), expected: int | None = None, card_fields: Mapping[str, Any] = NOTHING,
    tokens: int | None = None, another: bool = False, side_bits: int = 0,
) -> Path:  # fmt: skip
    """Pack a run of ``clips`` drawn clips with sound on the dataset ``mini``; clips in ``broken`` failed.

    ``expected`` is how many clips the dataset has. ``tokens`` a second make it a token codec; ``side_bits`` stand
    beside those of each clip.
    ``another`` adds a run on a second dataset, speech alone, whose clips give no samples.
    """
    folder.mkdir(parents=True, exist_ok=True)
    codec = card(name, **card_fields)
    rows = _rows("mini", clips, CATEGORIES, quality, tokens, codec, side_bits)
    rows = [failed(row.clip, category=row.category) if at in broken else row for at, row in enumerate(rows)]
    run = write_run(folder, rows, card=codec, clips=expected or clips, title="Mini set")
    dataset = with_audio(run, [row for row in rows if row.status == "ok"], folder / "audio")
    stored = {row.clip: row for row in run.rows()}
    run.write_rows((stored.get(row.clip, row) for row in rows), sorted(rows[-1].metrics))
    runs, opened = [run], {"mini": dataset}
    if another:
        more = _rows("another", clips, ("speech",), quality, tokens, codec, side_bits)
        second = write_run(folder, more, card=codec, citation="@misc{another, title = {Another}}", licence="CC-BY-4.0")
        runs.append(second)
        opened["another"] = with_audio(second, more, folder / "other", licence="unknown")
        opened["another"] = type(dataset)(opened["another"].clips, name="another", manifest_hash=sha("another"))
    datasets: Any = opened
    return pack(runs, folder / f"{name}.zip", submitter=Submitter(name="Ann"), samples=samples, datasets=datasets)


def _rows(
    dataset: str, clips: int, categories: Sequence[Category], quality: float, tokens: int | None, codec: Card,
    side_bits: int,
) -> list[ClipRow]:  # fmt: skip
    rows = draw_rows(1, clips, dataset=dataset, quality=quality, categories=categories)
    if tokens is None:
        return rows
    bits = codec.bits_of(tokens // (codec.codebooks or 1)) + side_bits
    return [row.model_copy(update={"tokens": tokens, "bits": bits}) for row in rows]


def store(
    session: Session, files: Path, file: Path, *, status: str = "self-reported", reason: str | None = None,
    change: Callable[[dict[str, Any]], None] = lambda document: None,
) -> str:  # fmt: skip
    """Store a packed file as the next version of its codec; return the id. ``change`` edits the stored document."""
    content = file.read_bytes()
    digest = sha256(content).hexdigest()
    files.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, files / f"{digest}.zip")
    checked = _examined(content)
    accepted = checked.outcome.accepted
    assert accepted is not None, checked.outcome.problems
    name = accepted.submission.codec.name
    codec = repository.codec_by_name(session, name) or Codec(name=name)
    session.add(codec)
    session.flush()
    described: dict[str, Any] = repository.submission_columns(accepted)
    change(described["document"])
    stored = Submission(
        id=repository.new_id(), codec=codec, version=repository.next_version(session, codec), file_sha256=digest,
        file_size=len(content), status=status, public_since=now() if status in PUBLIC else None,
        reason=reason, notes=list(checked.outcome.notes), warnings=[],
        **described,
    )  # fmt: skip
    stored.results.extend(repository.results(accepted))
    session.add(stored)
    session.flush()
    session.add_all(repository.blocks(stored.id, checked))
    session.flush()
    if status in PUBLIC:
        record_change(session, stored.id, status)
    return stored.id


def _examined(content: bytes) -> Checked:
    document = Document.model_validate_json(read_archive(io.BytesIO(content))[SUBMISSION_NAME])
    known = {
        entry.name: clips_of(entry.name, entry.clips, CATEGORIES if entry.name == "mini" else ("speech",))
        for entry in document.datasets
    }
    task, result = io.BytesIO(), io.BytesIO()
    states = {name: (state.manifest_hash, pack_clips(state.clips)) for name, state in known.items()}
    write_task(task, LIMIT, states)
    run(io.BytesIO(content), task, result)
    return read_outcome(result)
