"""The result of a check as handed to the service: validated, because its writer has read an untrusted file.

On disk: the Parquet blocks one after another, which are written as the rows are read, a JSON document
(:class:`CheckOutcome`), then eight bytes with its length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, BinaryIO, Self

from pydantic import Field, ValidationError

from codec_superb.metrics.results import ResultSummary
from codec_superb.pipeline.runs.info import Name
from codec_superb.pipeline.submission.findings import Problem
from codec_superb.pipeline.submission.schema import Part, Submission
from codec_superb.record import Record

DOCUMENT_LIMIT = 32 << 20
"""Bytes of the document; ``submission.json`` has at most four MiB."""
BLOCK_LIMIT = 256 << 20
"""Bytes of all blocks together, for each file of rows."""
MOST_BLOCKS = 900_000_000
"""The same of any number of files: a value of a database has less than 10^9 bytes (SQLite), or 2^30 (PostgreSQL)."""
_TAIL = struct.Struct(">Q")
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class BlockInfo(Record):
    """One block of clip rows."""

    dataset: Name
    rows: Count
    size: Count
    """Bytes."""


class Accepted(Record):
    """Everything that is stored of a submission without problems."""

    submission: Submission
    categories: tuple[ResultSummary, ...]
    """By category, over all datasets."""
    datasets: tuple[ResultSummary, ...]
    """By dataset and category."""
    blocks: tuple[BlockInfo, ...]
    clips: Count
    ok: Count
    failed: Count
    complete: bool


class CheckOutcome(Record):
    """The verdict."""

    problems: tuple[Problem, ...]
    more: Count
    """Problems beyond those listed."""
    notes: tuple[str, ...]
    accepted: Accepted | None
    """None where there are problems."""
    parts: tuple[Part, ...] = ()
    """Files of rows that were not handed over, and without which there is no verdict."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An outcome with its blocks, which stay in the file that the checking process wrote until the context ends."""

    outcome: CheckOutcome
    file: BinaryIO

    @property
    def blocks(self) -> Iterator[bytes]:
        """Yield them one at a time, in the order of ``accepted.blocks``."""
        self.file.seek(0)
        for info in self.outcome.accepted.blocks if self.outcome.accepted else ():
            yield self.file.read(info.size)

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, which is gone by that."""
        self.file.close()


class InvalidOutcome(Exception):
    """The checking process left an invalid outcome."""


def block_limit(parts: int) -> int:
    """Return how many bytes all blocks of a submission in so many parts may have; 0 for one file."""
    return min(BLOCK_LIMIT * max(1, parts), MOST_BLOCKS)


def write_outcome(file: BinaryIO, outcome: CheckOutcome) -> None:
    """Write an outcome behind its blocks, as :func:`read_outcome` reads it."""
    document = outcome.model_dump_json().encode()
    file.write(document)
    file.write(_TAIL.pack(len(document)))
    file.flush()


def read_outcome(file: BinaryIO, parts: int = 0) -> Checked:
    """Read and validate an outcome of a submission in so many parts, 0 for one file.

    Raises InvalidOutcome for one that is inconsistent or exceeds the limits. Its blocks are read later from ``file``.
    """
    size, most = file.seek(0, 2), block_limit(parts)
    if not _TAIL.size < size <= _TAIL.size + DOCUMENT_LIMIT + most:
        raise InvalidOutcome(f"expected an outcome, got {size} bytes")
    file.seek(size - _TAIL.size)
    (length,) = _TAIL.unpack(file.read(_TAIL.size))
    if length > min(DOCUMENT_LIMIT, size - _TAIL.size):
        raise InvalidOutcome(f"expected a document of at most {DOCUMENT_LIMIT} bytes inside {size}, got {length}")
    if (rest := size - _TAIL.size - length) > most:
        raise InvalidOutcome(f"expected blocks of at most {most} bytes, got {rest}")
    file.seek(rest)
    try:
        outcome = CheckOutcome.model_validate_json(file.read(length), strict=True)
    except ValidationError as error:
        raise InvalidOutcome(f"expected an outcome: {error.error_count()} fields do not fit") from error
    if [outcome.accepted is not None, bool(outcome.problems), bool(outcome.parts)].count(True) != 1:
        raise InvalidOutcome("expected either problems, or results, or parts that are lacking")
    infos = outcome.accepted.blocks if outcome.accepted else ()
    if sum(info.size for info in infos) != rest:
        raise InvalidOutcome("expected blocks of the sizes that the document gives")
    return Checked(outcome, file)
