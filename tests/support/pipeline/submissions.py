"""Open a submission, change something in it, and close it again, with or without making its hashes right."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.check import CheckReport, check
from codec_superb.pipeline.submission.schema import (
    CLIPS_NAME,
    PAIRS_NAME,
    SUBMISSION_NAME,
    VECTORS_NAME,
    Submission,
    format_of,
)
from codec_superb.pipeline.tables.clips import FORMAT_KEY, clip_schema, open_table, write_table
from codec_superb.pipeline.tables.pairs import read_pairs, write_pairs
from codec_superb.pipeline.tables.rows import ClipRow, FramesRow, PairRow
from codec_superb.pipeline.tables.vectors import read_vectors, write_vectors


def rewrite(file: Path | BinaryIO, change: Callable[[dict[str, bytes]], None]) -> io.BytesIO:
    """Change the members and zip them again."""
    members = read_archive(file)
    change(members)
    out = io.BytesIO()
    write_archive(out, members)
    return out


def edit_document(
    file: Path | BinaryIO, change: Callable[[dict[str, Any]], None], *, seal: bool = False
) -> CheckReport:
    """Change submission.json, seal it anew where asked to, and check the result."""

    def edit(members: dict[str, bytes]) -> None:
        document = json.loads(members[SUBMISSION_NAME])
        change(document)
        members[SUBMISSION_NAME] = json.dumps(document).encode()
        if seal:
            reseal(members)

    return check(rewrite(file, edit))


def edit_rows(file: Path | BinaryIO, change: Callable[[list[ClipRow]], None], *, seal: bool = True) -> CheckReport:
    """Change the rows, seal the document over them where asked to, and check the result."""

    def edit(members: dict[str, bytes]) -> None:
        table = open_table(io.BytesIO(members[CLIPS_NAME]))
        rows = list(table)
        change(rows)
        out = io.BytesIO()
        write_table(out, rows, table.metrics, table.probes)
        members[CLIPS_NAME] = out.getvalue()
        if seal:
            reseal(members)

    return check(rewrite(file, edit))


def edit_pairs(file: Path | BinaryIO, change: Callable[[list[PairRow]], None], *, seal: bool = True) -> CheckReport:
    """Change the trials and ranks, seal the document over them where asked to, and check the result."""

    def edit(members: dict[str, bytes]) -> None:
        pairs = list(read_pairs(io.BytesIO(members[PAIRS_NAME])))
        change(pairs)
        out = io.BytesIO()
        write_pairs(out, pairs)
        members[PAIRS_NAME] = out.getvalue()
        if seal:
            reseal(members)

    return check(rewrite(file, edit))


def edit_frames(file: Path | BinaryIO, change: Callable[[list[FramesRow]], None], *, seal: bool = True) -> CheckReport:
    """Change the frames, seal the document over them where asked to, and check the result."""

    def edit(members: dict[str, bytes]) -> None:
        rows = list(read_vectors(io.BytesIO(members[VECTORS_NAME])))
        change(rows)
        members.pop(VECTORS_NAME)
        if rows:
            out = io.BytesIO()
            write_vectors(out, rows)
            members[VECTORS_NAME] = out.getvalue()
        if seal:
            reseal(members)

    return check(rewrite(file, edit))


def reseal(members: dict[str, bytes]) -> None:
    """Make all hashes right, as somebody would who edits on purpose."""
    submission = Submission.model_validate_json(members[SUBMISSION_NAME])
    rows = hashlib.sha256(members[CLIPS_NAME]).hexdigest()
    pairs, vectors = (
        hashlib.sha256(members[name]).hexdigest() if name in members else None for name in (PAIRS_NAME, VECTORS_NAME)
    )
    hashes = {"clips_sha256": rows, "pairs_sha256": pairs, "vectors_sha256": vectors, "format": format_of(members)}
    members[SUBMISSION_NAME] = submission.model_copy(update=hashes).seal().to_json()


def to_first_layout(members: dict[str, bytes]) -> None:
    """Write the clip rows as the first layout had them, without clusters and slices; no hash is made right."""
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(members[CLIPS_NAME])).drop_columns(["cluster", "slice"])
    out = io.BytesIO()
    schema = clip_schema(json.loads(members[SUBMISSION_NAME])["metrics"], version="1")
    with pq.ParquetWriter(out, schema, compression="none", store_schema=False, write_statistics=False) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: b"1"})
        writer.write_table(table.cast(schema))
    members[CLIPS_NAME] = out.getvalue()


def numbers(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of every number in JSON data."""
    if isinstance(data, bool) or data is None or isinstance(data, str):
        return
    if isinstance(data, int | float):
        yield path
        return
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield from numbers(value, (*path, key))


def change_number(data: Any, path: tuple[str | int, ...], by: float) -> None:
    """Add ``by`` to the number at ``path``."""
    *folders, last = path
    for key in folders:
        data = data[key]
    data[last] += by if isinstance(data[last], float) else max(1, round(by))
