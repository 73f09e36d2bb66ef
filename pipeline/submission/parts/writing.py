"""Writes the rows of a submission into several files, which are in their places before the one that describes them."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from codec_superb.data_manifests.files import replacing
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.output_file import UNWRITTEN, writing
from codec_superb.pipeline.submission.archive import FILE_LIMIT, write_archive
from codec_superb.pipeline.submission.parts.reading import MOST_ROWS, part_name
from codec_superb.pipeline.submission.schema import CLIPS_NAME, MOST_PARTS, PART_NAME, Part, Submission
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.tables.stored_rows import StoredRows


class _TooLarge(Exception):
    """A part has more bytes than a file may have."""


def in_order(rows: StoredRows) -> StoredRows:
    """Return rows as parts have them: sorted by dataset and clip."""
    return StoredRows.chained(rows.where("dataset", {name}).by_clip() for name in sorted(rows.unique("dataset")))


@contextmanager
def written_parts(
    out: Path, submission: Submission, rows: StoredRows, most_rows: int
) -> Iterator[tuple[tuple[Part, ...], list[Path]]]:
    """Write sorted rows into parts of at most so many rows and :data:`FILE_LIMIT` bytes.

    Yields what describes them and where they lie; they get their names beside ``out`` when the block ends, and are
    removed where it raises. Raises SubmissionError for more rows, or more files, than a submission may have.
    """
    if len(rows) > MOST_ROWS:
        raise SubmissionError(
            f"expected at most {MOST_ROWS:,} rows in all parts, got {len(rows):,}: pack fewer datasets"
        )
    if out.exists() and not out.is_file():
        raise SubmissionError(f"{len(rows):,} rows take several files: name a file in a folder, not {out}")
    count = -(-len(rows) // most_rows)
    while True:
        try:
            with ExitStack() as files, writing(out, UNWRITTEN):
                made = [_write(files, out, submission, rows, number, count) for number in range(1, count + 1)]
                yield tuple(part for part, _ in made), [place for _, place in made]
                return
        except _TooLarge:  # those that were written are gone
            count *= 2


def _write(
    files: ExitStack, out: Path, submission: Submission, rows: StoredRows, number: int, count: int
) -> tuple[Part, Path]:
    if count > MOST_PARTS:
        raise SubmissionError(f"expected at most {MOST_PARTS} parts, got {count}: pack fewer datasets")
    bounds = [len(rows) * end // count for end in (number - 1, number)]
    its = rows.between(*bounds)
    clips, packed = io.BytesIO(), io.BytesIO()
    its.write(clips)
    head = strict_json.dumps(submission.head(number, count).model_dump(mode="json"))
    write_archive(packed, {PART_NAME: head, CLIPS_NAME: clips.getvalue()})
    data = packed.getvalue()
    if len(data) > FILE_LIMIT:
        raise _TooLarge
    out.parent.mkdir(parents=True, exist_ok=True)
    place = files.enter_context(replacing(out.with_name(part_name(out.name, number, count))))
    place.write_bytes(data)
    sums = (hashlib.sha256(found).hexdigest() for found in (data, clips.getbuffer()))
    return Part(sha256=next(sums), size=len(data), rows=len(its), clips_sha256=next(sums)), place


def files_of(out: Path) -> list[Path]:
    """List the files of a submission: the one that describes it, then the parts that lie beside it."""
    name = re.compile(re.escape(out.name.removesuffix(".zip")) + r"\.part-\d{4}-of-\d{4}\.zip")
    return [out, *sorted(path for path in out.parent.iterdir() if name.fullmatch(path.name))]


def remove_others(out: Path, parts: int) -> None:
    """Remove the parts of what lay here before, in another number."""
    names = {part_name(out.name, number, parts) for number in range(1, parts + 1)}
    for path in files_of(out)[1:]:
        if path.name not in names:
            path.unlink(missing_ok=True)
