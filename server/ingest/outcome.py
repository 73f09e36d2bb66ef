"""The result of a check as handed to the service: validated, because its writer has read an untrusted file.

On disk: eight bytes with the length of a JSON document, the document (:class:`CheckOutcome`), then the Parquet blocks
one after another.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, BinaryIO

from pydantic import Field, ValidationError

from codec_superb.metrics.results import ResultSummary
from codec_superb.pipeline.runs.info import Name
from codec_superb.pipeline.submission.findings import Problem
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.record import Record

DOCUMENT_LIMIT = 32 << 20
"""Bytes of the document; ``submission.json`` has at most four MiB."""
BLOCK_LIMIT = 256 << 20
"""Bytes of all blocks together."""
_HEAD = struct.Struct(">Q")
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


@dataclass(frozen=True, slots=True)
class Checked:
    """An outcome with its blocks."""

    outcome: CheckOutcome
    blocks: tuple[bytes, ...]
    """In the order of ``accepted.blocks``."""


class InvalidOutcome(Exception):
    """The checking process left an invalid outcome."""


def write_outcome(file: BinaryIO, outcome: CheckOutcome, blocks: Sequence[bytes]) -> None:
    """Write an outcome as :func:`read_outcome` reads it."""
    document = outcome.model_dump_json().encode()
    file.write(_HEAD.pack(len(document)))
    file.write(document)
    file.writelines(blocks)
    file.flush()


def read_outcome(file: BinaryIO) -> Checked:
    """Read and validate an outcome. Raises InvalidOutcome for one that is inconsistent or exceeds the limits."""
    size = file.seek(0, 2)
    file.seek(0)
    if not _HEAD.size < size <= _HEAD.size + DOCUMENT_LIMIT + BLOCK_LIMIT:
        raise InvalidOutcome(f"expected an outcome, got {size} bytes")
    (length,) = _HEAD.unpack(file.read(_HEAD.size))
    if length > min(DOCUMENT_LIMIT, size - _HEAD.size):
        raise InvalidOutcome(f"expected a document of at most {DOCUMENT_LIMIT} bytes inside {size}, got {length}")
    if (rest := size - _HEAD.size - length) > BLOCK_LIMIT:
        raise InvalidOutcome(f"expected blocks of at most {BLOCK_LIMIT} bytes, got {rest}")
    try:
        outcome = CheckOutcome.model_validate_json(file.read(length), strict=True)
    except ValidationError as error:
        raise InvalidOutcome(f"expected an outcome: {error.error_count()} fields do not fit") from error
    if (outcome.accepted is None) != bool(outcome.problems):
        raise InvalidOutcome("expected either problems or results")
    infos = outcome.accepted.blocks if outcome.accepted else ()
    if sum(info.size for info in infos) != rest:
        raise InvalidOutcome("expected blocks of the sizes that the document gives")
    return Checked(outcome, tuple(file.read(info.size) for info in infos))
