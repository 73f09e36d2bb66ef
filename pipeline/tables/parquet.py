"""Checks of a Parquet file that precede reading its rows, shared by the tables of a submission."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.parquet_footer import read_footer

if TYPE_CHECKING:
    import pyarrow as pa

_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})


def check_pages(source: Path | BinaryIO, name: str) -> int:
    """Refuse compressed pages and delta encodings (a kilobyte of them can expand to gigabytes); count the rows."""
    try:
        if isinstance(source, Path):
            with source.open("rb") as file:
                footer = read_footer(file)
        else:
            footer = read_footer(source)
    except (ClipTableError, OSError) as error:
        raise ClipTableError(f"{name}: {error}") from error
    for chunk in footer.chunks:
        odd = sorted(chunk.encodings - _ENCODINGS)
        if chunk.codec != "UNCOMPRESSED" or odd:
            raise ClipTableError(
                f"{name}: expected uncompressed plain or dictionary pages, got {chunk.codec} {odd or ''} in "
                f"column {chunk.column[:60]!r}; write it with this program"
            )
    return footer.rows


def check_format(metadata: Mapping[bytes, bytes] | None, key: bytes, expected: str, name: str) -> None:
    """Refuse a table that is not marked, or is marked with another version of its format."""
    kind = key.decode().removeprefix("codec_superb_").replace("_", " ")
    version = (metadata or {}).get(key, b"").decode("ascii", "replace")
    if version != expected:
        found = f"version {version!r:.20}" if version else "no version"
        raise ClipTableError(f"{name}: expected a {kind} of format version {expected}, got {found}")


def check_columns(found: pa.Schema, expected: pa.Schema, name: str) -> None:
    """Compare column by column, so that the error names the first one that differs."""
    for position in range(max(len(found), len(expected))):
        want = expected.field(position) if position < len(expected) else None
        got = found.field(position) if position < len(found) else None
        if want is None or got is None or not want.equals(got):
            raise ClipTableError(f"{name}: expected column {position} to be {_column(want)}, got {_column(got)}")


def _column(field: pa.Field | None) -> str:
    if field is None:
        return "absent"
    return f"{field.name[:60]!r} ({field.type}{'' if field.nullable else ', never null'})"


def check_text(batch: pa.RecordBatch, limits: Mapping[str, int], name: str) -> None:
    """Bound every string before rows are built; a dictionary holds a repeated string once.

    ``limits`` maps the string columns, read as dictionaries, to their most characters. Raises ClipTableError, or
    pyarrow.ArrowException for what is not sound: Arrow reads indices beyond a dictionary, and text that is not UTF-8.
    """
    import pyarrow.compute as pc

    batch.validate(full=True)
    for column, limit in limits.items():
        # of the dictionary: every distinct text once
        longest = pc.max(pc.utf8_length(batch.column(column).dictionary)).as_py() or 0
        if longest > limit:
            raise ClipTableError(f"{name}: expected at most {limit} characters in {column}, got {longest}")
