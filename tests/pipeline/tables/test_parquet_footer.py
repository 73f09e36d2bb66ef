"""The reader of Parquet footers: agrees with Arrow on good files, and survives what makes Arrow's bindings give up."""

from __future__ import annotations

import io
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import KEYS, draw_rows
from support.profile import examples

from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.clips import open_table, write_table
from codec_superb.pipeline.tables.parquet_footer import read_footer


def good() -> bytes:
    """Write some rows."""
    out = io.BytesIO()
    write_table(out, draw_rows(1, 30), KEYS)
    return out.getvalue()


GOOD = good()


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "none"},
        {"compression": "snappy", "row_group_size": 7},
        {"compression": "zstd", "use_dictionary": False},
        {"compression": "none", "use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        {"compression": "none", "data_page_version": "2.0", "data_page_size": 64, "write_batch_size": 8},
        {"compression": "gzip", "write_page_index": True},
    ],
)
def test_it_agrees_with_arrow(options: dict[str, object]) -> None:
    """Rows, columns, codecs and encodings of files of many kinds are those that Arrow reports."""
    table = pa.table({"text": [f"clip{n}" for n in range(40)], "number": [n / 3 for n in range(40)]})
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    metadata = pq.ParquetFile(out).metadata
    columns = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    footer = read_footer(out)
    assert footer.rows == 40
    assert [(chunk.column, chunk.codec, chunk.values) for chunk in footer.chunks] == [
        (column.path_in_schema, column.compression, column.num_values) for column in columns
    ]
    assert [chunk.encodings for chunk in footer.chunks] == [frozenset(column.encodings) for column in columns]


def test_a_page_with_another_encoding_than_the_footer_admits_is_seen() -> None:
    """The footer says PLAIN, the page is DELTA_BYTE_ARRAY, which unfolds: both are reported."""
    out = io.BytesIO()
    table = pa.table({"text": [f"clip{n}" for n in range(40)]})
    pq.write_table(table, out, compression="none", use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"})
    # A list of two 32-bit numbers, RLE (3) and DELTA_BYTE_ARRAY (7), zigzag-coded; 7 becomes PLAIN (0).
    data = out.getvalue()
    places = [place for place in (b"\x25\x06\x0e", b"\x25\x0e\x06") if place in data]
    assert len(places) == 1
    lying = data.replace(places[0], places[0].replace(b"\x0e", b"\x00"))
    (chunk,) = read_footer(io.BytesIO(lying)).chunks
    assert {"PLAIN", "DELTA_BYTE_ARRAY"} <= chunk.encodings


def test_a_table_that_unfolds_is_refused_before_arrow_unfolds_it() -> None:
    """A few kilobytes of compressed pages that hold 64 MB cost no more memory than they say that they do."""
    names = pa.array([f"{n}" + "a" * (1 << 20) for n in range(64)])
    table = pq.read_table(io.BytesIO(GOOD)).take(pa.array([0] * 64))
    bomb = io.BytesIO()
    written = table.set_column(0, table.schema.field(0), names)
    pq.write_table(written, bomb, compression="zstd", use_dictionary=False, store_schema=False, write_statistics=False)
    assert len(bomb.getvalue()) < 50_000
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(ClipTableError, match=r"expected uncompressed .* got ZSTD .*column 'clip'"):
            open_table(bomb)
        assert (pool.max_memory() or 0) < 1 << 20
    finally:
        pa.set_memory_pool(before)


@examples(300)
@given(st.data())
def test_damage_is_an_error_or_harmless_never_another_exception(data: st.DataObject) -> None:
    """Flip bytes of the footer anywhere: a ClipTableError or a footer, in bounded time."""
    changed = bytearray(GOOD)
    (length,) = struct.unpack("<L", GOOD[-8:-4])
    for _ in range(data.draw(st.integers(1, 5))):
        changed[data.draw(st.integers(len(GOOD) - 8 - length, len(GOOD) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        footer = read_footer(io.BytesIO(bytes(changed)))
    except ClipTableError:
        return
    assert footer.rows >= 0


@examples(100)
@given(st.binary(max_size=200))
def test_any_bytes_between_the_magic_give_a_clean_answer(body: bytes) -> None:
    """Arbitrary footers: deep nesting, endless lists and numbers included."""
    file = io.BytesIO(b"PAR1" + body + struct.pack("<L", len(body)) + b"PAR1")
    with pytest.raises(ClipTableError):
        read_footer(file)


@pytest.mark.parametrize(
    "footer",
    [
        b"\x3c" * 5000,
        b"\x39" + b"\xf9\xff\xff\xff\xff\x0f" * 50,
        b"\x16" + b"\xff" * 50,
        b"\x19\xfc\xff\xff\xff\xff\x0f",
    ],
    ids=["structs in structs", "lists in lists", "endless number", "four billion entries"],
)
def test_bombs_are_defused(footer: bytes) -> None:
    """Nothing is allocated for what is only announced."""
    with pytest.raises(ClipTableError):
        read_footer(io.BytesIO(b"PAR1" + footer + struct.pack("<L", len(footer)) + b"PAR1"))
