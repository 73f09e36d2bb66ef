"""The Parquet layout of frames: what is written comes back within half floats, and nothing else is read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.probed import draw_probes
from support.pipeline.stats import card, draw_rows, write_run
from support.profile import examples

from codec_superb.pipeline.errors import ClipTableError, RunFolderError
from codec_superb.pipeline.tables.rows import FramesRow
from codec_superb.pipeline.tables.vectors import (
    FIXED,
    FORMAT,
    FORMAT_KEY,
    LARGEST,
    frames_row,
    read_vectors,
    vector_schema,
    write_vectors,
)

KEY = "mseb_reconstruction_yamnet"
HALVES = np.arange(6, dtype="<f2").tobytes()
PLAIN: dict[str, Any] = {
    "dataset": "mini", "probe": KEY, "clip": "a", "frames": 9, "dimensions": 3, "scale": 0.25, "reference": HALVES,
    "resynthesis": HALVES,
}  # fmt: skip


def packed(rows: list[FramesRow]) -> io.BytesIO:
    """Write rows into memory."""
    out = io.BytesIO()
    assert write_vectors(out, rows) == len(rows)
    return out


def raw(schema: pa.Schema, mark: bytes = FORMAT.encode(), record: dict[str, Any] | None = None, **options: Any) -> Any:
    """Write one record without this package, marked as a table of frames."""
    out = io.BytesIO()
    usual: dict[str, Any] = {"compression": "none", "store_schema": False}
    content = {name: value for name, value in (record or PLAIN).items() if name in schema.names}
    with pq.ParquetWriter(out, schema, **(usual | options)) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: mark})
        writer.write_table(pa.Table.from_pylist([content], schema=schema))
    return out


NUMBERS = st.floats(-LARGEST, LARGEST, width=32, exclude_min=True, exclude_max=True)


@examples(40)
@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_frames_come_back_within_a_two_thousandth(kept: int, dimensions: int, data: st.DataObject) -> None:
    """Any finite numbers survive, relative to the largest of the clip; equal sides stay equal."""
    drawn = st.lists(NUMBERS, min_size=kept * dimensions, max_size=kept * dimensions)
    one, two = (np.array(data.draw(drawn), np.float32).reshape(kept, dimensions) for _ in range(2))
    row = frames_row("mini", KEY, "clip", kept + 2, (one, two))
    (back,) = read_vectors(packed([row]))
    assert back == row
    assert (back.kept, back.frames) == (kept, kept + 2)
    largest = max(np.abs(one).max(), np.abs(two).max())
    for side, sent in (("reference", one), ("resynthesis", two)):
        assert np.all(np.abs(back.side(side) - sent) <= 2.0**-11 * np.abs(sent) + 2.0**-38 * largest + 2.0**-80)
    assert frames_row("mini", KEY, "clip", kept, (one, one)).reference == frames_row(
        "mini", KEY, "clip", kept, (one, one)
    ).resynthesis  # fmt: skip


def test_every_field_of_a_row_has_its_column_in_its_order() -> None:
    """A field without a column would be lost silently."""
    assert list(FIXED) == list(FramesRow.model_fields)


def test_a_table_over_several_row_groups_keeps_its_order_and_bytes() -> None:
    """The same rows give the same bytes."""
    rows = [FramesRow(**(PLAIN | {"clip": f"{n}"})) for n in range(600)]
    first = packed(rows)
    assert pq.ParquetFile(first).num_row_groups > 1
    assert list(read_vectors(first)) == rows
    assert packed(list(rows)).getvalue() == first.getvalue()


def test_a_run_folder_keeps_pairs_and_frames_apart_and_has_no_file_without_any(tmp_path: Path) -> None:
    """The second probing of a run may keep none; what the first one kept is then gone."""
    rows = draw_rows(1, 30)
    kept = draw_probes(rows, ["asv", KEY]).pairs
    run = write_run(tmp_path, rows, card=card())
    run.write_pairs(kept)
    assert list(run.pairs()) == kept
    assert {path.name for path in run.path.glob("*.parquet")} == {"clips.parquet", "pairs.parquet", "vectors.parquet"}
    frames = [row for row in kept if isinstance(row, FramesRow)]
    assert frames
    run.write_pairs(frames)
    assert list(run.pairs()) == frames
    run.write_pairs([])
    assert run.pairs() == ()
    assert {path.name for path in run.path.glob("*.parquet")} == {"clips.parquet"}


def test_a_damaged_file_of_a_run_is_named_with_what_to_do(tmp_path: Path) -> None:
    """A copy that broke off: where it lies, what came, and the command that makes it anew."""
    run = write_run(tmp_path, draw_rows(1, 30), card=card())
    run.write_pairs([FramesRow(**PLAIN)])
    file = run.path / "vectors.parquet"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(
        RunFolderError, match=r"mini/vectors\.parquet: expected a Parquet.*probe again with --overwrite"
    ):
        run.pairs()


@pytest.mark.parametrize("data", [b"", b"no", b"PAR1" * 9], ids=["empty", "short", "magic only"])
def test_what_is_no_parquet_is_refused(data: bytes) -> None:
    """Damage is reported as such, never as an exception of a library."""
    with pytest.raises(ClipTableError, match=r"vectors\.parquet: expected a Parquet file"):
        read_vectors(io.BytesIO(data))


def test_every_truncation_is_found() -> None:
    """A table cut anywhere gives an error, not fewer rows."""
    whole = packed([FramesRow(**PLAIN)] * 3).getvalue()
    for length in range(0, len(whole), 17):
        with pytest.raises(ClipTableError):
            read_vectors(io.BytesIO(whole[:length]))


def test_another_layout_or_format_is_refused() -> None:
    """Columns missing, added or of another type, null where none may be, and later versions are named."""
    fields = list(vector_schema())
    cases = {
        "column 7 to be 'resynthesis'": fields[:-1],
        "column 8 to be absent, got 'more'": [*fields, pa.field("more", pa.int64())],
        "column 5 to be 'scale' .double": [*fields[:5], pa.field("scale", pa.float32(), nullable=False), *fields[6:]],
        "column 0 to be 'dataset' .string, never null.": [fields[0].with_nullable(nullable=True), *fields[1:]],
    }
    for message, other in cases.items():
        with pytest.raises(ClipTableError, match=message):
            read_vectors(raw(pa.schema(other)))
    with pytest.raises(ClipTableError, match="a vector table of format version 1, got version '2'"):
        read_vectors(raw(vector_schema(), mark=b"2"))


def test_what_unfolds_is_refused() -> None:
    """Compressed pages and delta encodings can turn a kilobyte into gigabytes while they are read."""
    with pytest.raises(ClipTableError, match="ZSTD"):
        read_vectors(raw(vector_schema(), compression="zstd"))
    encoding = {"reference": "DELTA_LENGTH_BYTE_ARRAY"}
    with pytest.raises(ClipTableError, match="DELTA_LENGTH_BYTE_ARRAY"):
        read_vectors(raw(vector_schema(), use_dictionary=False, column_encoding=encoding))
    with pytest.raises(ClipTableError, match="at most 2 rows, got 3"):
        read_vectors(packed([FramesRow(**PLAIN)] * 3), max_rows=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"probe": "aec"}, r"the probes \['mseb_reconstruction.*, got 'aec'"),
        ({"clip": "x" * 1001}, "at most 1000 characters"),
        ({"dimensions": 0}, "1 to 16384 numbers, got 0"),
        ({"dimensions": -3}, "1 to 16384 numbers, got -3"),
        ({"dimensions": 2**40}, "1 to 16384 numbers"),
        ({"dimensions": 4}, "as many whole frames on both sides"),
        ({"resynthesis": HALVES[:6]}, "as many whole frames on both sides"),
        ({"reference": b"", "resynthesis": b""}, "as many whole frames on both sides, at least one"),
        ({"frames": 1}, "for 1 frames of 3 numbers"),
        ({"frames": -1}, "for -1 frames"),
        ({"scale": 0.3}, "a power of two"),
        ({"scale": 0.0}, "a power of two"),
        ({"scale": -2.0}, "a power of two"),
        ({"scale": 2.0**25}, "a power of two"),
        ({"scale": 2.0**-61}, "a power of two"),
        ({"scale": float("nan")}, "a power of two"),
        ({"scale": float("inf")}, "a power of two"),
        ({"reference": np.full(6, np.nan, "<f2").tobytes()}, "finite numbers in reference"),
        ({"resynthesis": np.full(6, np.inf, "<f2").tobytes()}, "finite numbers in resynthesis"),
    ],
)
def test_a_row_that_breaks_the_contract_is_refused(fields: dict[str, Any], message: str) -> None:
    """Every value is checked, whoever wrote the file, and the writer refuses the same; without the fault it is read."""
    assert read_vectors(raw(vector_schema())) == (FramesRow(**PLAIN),)
    with pytest.raises(ClipTableError, match=message):
        read_vectors(raw(vector_schema(), record=PLAIN | fields))
    with pytest.raises(ClipTableError, match=message):
        packed([FramesRow.model_construct(**(PLAIN | fields))])
