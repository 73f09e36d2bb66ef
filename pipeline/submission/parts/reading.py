"""Reads the rows of a submission, a file at a time where they lie in parts, and holds them to what it says of them.

Parts are sorted by dataset and clip, so that a clip that stands twice, in whichever two parts, stands beside itself.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pydantic import ValidationError

from codec_superb.pipeline.errors import PartsError, SubmissionError
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import (
    CLIPS_NAME,
    PART_NAME,
    SUBMISSION_NAME,
    Part,
    PartHead,
    Submission,
)
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.tables.clips import open_table
from codec_superb.pipeline.tables.stored_rows import StoredRows

if TYPE_CHECKING:
    from codec_superb.data_manifests.objects.store_path import Place

MAX_ROWS = 200_000
"""Rows of one file."""
MOST_ROWS = 2_000_000
"""Rows of all parts: with five metrics a check takes 0.5 GB of address space for a million, beside the 0.5 GB of its
imports, and a leaderboard gives it 2 GB."""
_PIECE = 1 << 20
_AGAIN = "pack the runs again with this version; parts are not edited by hand"

PartSource = Callable[[Sequence[Part], int], Path | BinaryIO]
"""Returns the file of a part, by its index among all. Raises SubmissionError where there is none."""


class Limits(NamedTuple):
    """What may be read."""

    file: int
    """Bytes of a file."""
    rows: int
    """Of all files together."""


def part_name(manifest: str, number: int, parts: int) -> str:
    """Name a part after the file that describes it: ``a.zip`` has ``a.part-0001-of-0007.zip``."""
    return f"{manifest.removesuffix('.zip')}.part-{number:04}-of-{parts:04}.zip"


def beside(manifest: Place) -> PartSource:
    """Find the parts of a submission beside it, by their names."""

    def source(parts: Sequence[Part], index: int) -> Path | BinaryIO:
        place = manifest.parent / part_name(manifest.name, index + 1, len(parts))
        if not place.is_file():
            raise SubmissionError(f"expected {place.name} beside {manifest.name}, found none")
        return place if isinstance(place, Path) else place.open()

    return source


def nowhere(parts: Sequence[Part], index: int) -> Path | BinaryIO:
    """Have none: of a file that came alone."""
    raise SubmissionError(f"expected part {index + 1} of {len(parts)}, got the file that describes them alone")


def tables(
    submission: Submission, members: Mapping[str, bytes], source: PartSource, limits: Limits, findings: Findings
) -> Iterator[StoredRows]:
    """Yield the rows: all at once, or a part at a time.

    Problems of a part go into ``findings``. Raises PartsError for a part that is not there, another one or damaged,
    SubmissionError and ClipTableError for what else cannot be read.
    """
    if (CLIPS_NAME in members) == bool(submission.parts):
        got = "both" if submission.parts else "neither"
        raise SubmissionError(f"expected either {CLIPS_NAME} or parts in {SUBMISSION_NAME}, got {got}")
    if not submission.parts:
        yield _read(members[CLIPS_NAME], CLIPS_NAME, min(MAX_ROWS, limits.rows))
        return
    total = sum(part.rows for part in submission.parts)
    if total > limits.rows:
        raise SubmissionError(f"expected at most {limits.rows} rows in all parts, got {total}")
    last: tuple[str, str] | None = None
    for index in range(len(submission.parts)):
        where = f"part {index + 1} of {len(submission.parts)}"
        try:
            rows = _part(submission, source(submission.parts, index), index, limits, findings)
        except SubmissionError as error:
            raise PartsError(f"{where}: {error}") from error
        last = _check_order(rows, last, where, findings)
        yield rows
        del rows  # before the next is read


def _read(data: bytes, name: str, most: int) -> StoredRows:
    return StoredRows.read(open_table(io.BytesIO(data), name=name, max_rows=most))


def _part(submission: Submission, file: Path | BinaryIO, index: int, limits: Limits, findings: Findings) -> StoredRows:
    part = submission.parts[index]
    size, sha256 = _hash(file, limits.file)
    expected: dict[str, tuple[object, object]] = {"size": (part.size, size), "sha256": (part.sha256, sha256)}
    if part.sha256 != sha256:
        raise SubmissionError(f"expected the file with the SHA-256 {part.sha256[:16]}…, got {sha256[:16]}…")
    members = read_archive(file, file_limit=limits.file, part=True)
    head = _head(members[PART_NAME])
    for name, want in submission.head(index + 1, len(submission.parts)):
        expected[f"{PART_NAME}: {name}"] = (want, getattr(head, name))
    data = members.pop(CLIPS_NAME)
    rows = _read(data, CLIPS_NAME, min(MAX_ROWS, part.rows))
    expected["rows"] = (part.rows, len(rows))
    expected["clips_sha256"] = (part.clips_sha256, hashlib.sha256(data).hexdigest())
    for name, (want, got) in expected.items():
        if want != got:
            findings.add(f"{SUBMISSION_NAME}: parts.{index}: {name}", want, got, _AGAIN)
    return rows


def _head(data: bytes) -> PartHead:
    strict_json.loads(data)
    try:
        return PartHead.model_validate_json(data, strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        raise SubmissionError(f"{PART_NAME}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error


def _hash(file: Path | BinaryIO, limit: int) -> tuple[int, str]:
    """Return size and SHA-256 of a file. Raises SubmissionError for one beyond the limit, before it is read."""
    if isinstance(file, Path):
        with file.open("rb") as opened:
            return _hash(opened, limit)
    size = file.seek(0, 2)
    if size > limit:
        raise SubmissionError(f"expected at most {limit / 1e6:g} MB, got {size} bytes")
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(_PIECE):
        digest.update(piece)
    return size, digest.hexdigest()


def _check_order(
    rows: StoredRows, last: tuple[str, str] | None, where: str, findings: Findings
) -> tuple[str, str] | None:
    """Expect rows sorted by dataset and clip, each clip once, behind those of the part before; return the last."""
    import pyarrow.compute as pc

    dataset, clip = rows.table["dataset"], rows.table["clip"]
    within = pc.and_(pc.equal(dataset[:-1], dataset[1:]), pc.less(clip[:-1], clip[1:]))
    ordered = pc.all(pc.or_(pc.less(dataset[:-1], dataset[1:]), within)).as_py() is not False
    ends = [(dataset[place].as_py(), clip[place].as_py()) for place in (0, -1)] if len(rows) else []
    if not ordered or (last is not None and ends and ends[0] <= last):
        expected = "rows sorted by dataset and clip over all parts, and each clip once"
        findings.add(f"{where}: {CLIPS_NAME}", expected, "another order, or a clip twice", _AGAIN)
    return ends[1] if ends else last
