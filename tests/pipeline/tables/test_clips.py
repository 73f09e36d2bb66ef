"""The Parquet layout of clip rows: what is written comes back, and nothing else is read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import KEYS, draw_rows, failed, ok, row
from support.profile import examples

from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.clips import (
    FIXED,
    FORMAT,
    FORMAT_KEY,
    TEXT_LIMIT,
    clip_schema,
    open_table,
    read_rows,
    write_table,
)
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
METRIC = st.one_of(
    st.builds(ok, FINITE),
    st.builds(MetricValue, status=st.sampled_from(["undefined", "failed"]), reason=TEXT),
)
INTEGER = st.one_of(st.none(), st.integers(-(2**62), 2**62))
ROW = st.builds(
    ClipRow,
    clip=TEXT,
    dataset=TEXT,
    category=st.sampled_from(["speech", "audio", "music"]),
    cluster=st.sampled_from(["", "0123456789ab"]),
    status=st.sampled_from(["ok", "failed"]),
    stage=st.sampled_from(["load", "encode", "decode", "write", "worker", "score", ""]),
    error_type=TEXT,
    error=TEXT,
    sampling_rate=INTEGER,
    samples=INTEGER,
    bits=INTEGER,
    tokens=INTEGER,
    encode_s=st.one_of(st.none(), FINITE),
    decode_s=st.one_of(st.none(), FINITE),
    lag_samples=INTEGER,
    clipped_samples=INTEGER,
    resynthesis_sha256=st.one_of(st.none(), TEXT),
    metrics=st.dictionaries(st.sampled_from(["pesq", "stoi"]), METRIC),
)


def packed(rows: list[ClipRow], metrics: tuple[str, ...] = ("pesq", "stoi")) -> bytes:
    """Write rows into memory."""
    out = io.BytesIO()
    write_table(out, rows, metrics)
    return out.getvalue()


def raw(schema: pa.Schema, record: dict[str, Any], **options: Any) -> io.BytesIO:
    """Write one record without this package, marked as a clip table."""
    out = io.BytesIO()
    usual: dict[str, Any] = {"compression": "none", "store_schema": False}
    with pq.ParquetWriter(out, schema, **(usual | options)) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        writer.write_table(pa.Table.from_pylist([record], schema=schema))
    return out


def record(**fields: Any) -> dict[str, Any]:
    """One row as columns."""
    data = row("a").model_dump(exclude={"metrics"})
    return {name: data[name] for name in FIXED} | fields


@examples(40)
@given(st.lists(ROW, max_size=5))
def test_rows_come_back_as_they_went(rows: list[ClipRow]) -> None:
    """Any rows survive the round trip: Unicode, newlines, nulls, metrics that are absent, undefined or failed."""
    assert list(read_rows(io.BytesIO(packed(rows)))) == rows


def test_every_field_of_a_row_has_its_column_in_its_order() -> None:
    """A field added to ClipRow without a column here would be lost silently."""
    assert [*FIXED, "metrics", "probes"] == list(ClipRow.model_fields)


def test_a_table_over_many_row_groups_is_streamed_and_deterministic(tmp_path: Path) -> None:
    """Row groups hold 1,024 rows each, rows keep their order, and the same rows give the same bytes."""
    rows = [entry.model_copy(update={"clip": str(n)}) for n in range(200) for entry in draw_rows(n, 12)]
    path = tmp_path / "clips.parquet"
    assert write_table(path, rows, ["stft", "mel", "pesq", "stoi", "f0corr"]) == 2400
    assert pq.ParquetFile(path).num_row_groups == 3
    assert list(open_table(path)) == rows
    again = io.BytesIO()
    write_table(again, iter(rows), ["f0corr", "stoi", "mel", "pesq", "stft"])
    assert again.getvalue() == path.read_bytes()


def test_an_interrupted_write_leaves_the_old_table(tmp_path: Path) -> None:
    """A path is replaced in one step: an error in the middle loses nothing and leaves nothing beside it."""
    path = tmp_path / "clips.parquet"
    write_table(path, [row("a")], [])
    with pytest.raises(ClipTableError, match="metrics"):
        write_table(path, [row("b"), row("c", metrics={"pesq": ok(1.0)})], [])
    assert [entry.clip for entry in read_rows(path)] == ["a"]
    assert [file.name for file in tmp_path.iterdir()] == ["clips.parquet"]


def test_a_long_message_is_cut_and_says_so() -> None:
    """One huge error must not cost a finished run, nor pass for the whole message."""
    long = failed("a").model_copy(update={"error": "x" * 9999})
    (back,) = read_rows(io.BytesIO(packed([long])))
    assert len(back.error) <= TEXT_LIMIT
    assert back.error.endswith("(shortened)")


@pytest.mark.parametrize("key", ["PESQ", "status", "error", "a b", "", "x" * 65])
def test_a_metric_key_that_is_no_column_name_is_refused(key: str) -> None:
    """Keys are plain lower-case names that meet no other column."""
    with pytest.raises(ClipTableError, match="metric key"):
        clip_schema([key])


def test_keys_that_collide_are_refused() -> None:
    """``a`` and ``a_status`` would claim the same column."""
    with pytest.raises(ClipTableError, match="metric key"):
        clip_schema(["a", "a_status"])


@pytest.mark.parametrize("data", [b"", b"no", b"PAR1" * 9], ids=["empty", "short", "magic only"])
def test_what_is_no_parquet_is_refused(data: bytes) -> None:
    """Damage is reported as such, never as an exception of a library."""
    with pytest.raises(ClipTableError, match="expected a Parquet file"):
        list(read_rows(io.BytesIO(data)))


def test_every_truncation_is_found() -> None:
    """A table cut anywhere gives an error, not fewer rows."""
    whole = packed(draw_rows(1, 20), ("stft", "mel", "pesq", "stoi", "f0corr"))
    for length in range(0, len(whole), 97):
        with pytest.raises(ClipTableError):
            list(read_rows(io.BytesIO(whole[:length])))


def test_another_schema_is_refused_with_the_column() -> None:
    """Columns missing, added, reordered or of another type are named."""
    schema = clip_schema(["pesq"])
    cases = {
        "column 17.*absent": pa.schema(list(schema)[:17]),
        "column 19": pa.schema([*list(schema)[:19], pa.field("other", pa.string()), *list(schema)[20:]]),
        "column 0 to be 'clip'": pa.schema([schema.field(1), schema.field(0), *list(schema)[2:]]),
        "column 11 to be 'bits' .int64.": schema.set(11, pa.field("bits", pa.float64())),
    }
    for message, other in cases.items():
        content = dict.fromkeys(other.names) | record()
        fit = {
            name: float(v) if name == "bits" and other.field("bits").type == pa.float64() else v
            for name, v in content.items()
            if name in other.names
        }
        with pytest.raises(ClipTableError, match=message):
            open_table(raw(other, fit))


def raw_table(table: pa.Table, schema: pa.Schema, version: bytes) -> io.BytesIO:
    """Write a whole table without this package."""
    out = io.BytesIO()
    with pq.ParquetWriter(out, schema, compression="none", store_schema=False, write_statistics=False) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: version})
        writer.write_table(table.cast(schema))
    return out


def test_tables_of_earlier_formats_are_read_without_what_they_lack() -> None:
    """Runs and submissions of earlier versions stay readable; a column of another format's is refused by its name."""
    known = {"cluster": "0123456789ab", "slice": "traffic_noise"}
    rows = [entry.model_copy(update=known) for entry in draw_rows(1, 6)]
    table = pq.read_table(io.BytesIO(packed(rows, KEYS)))
    assert list(read_rows(raw_table(table, clip_schema(KEYS), b"3"))) == rows
    for version, lacking in (("1", ["cluster", "slice"]), ("2", ["slice"])):
        older, schema = table.drop_columns(lacking), clip_schema(KEYS, version=version)
        expected = [entry.model_copy(update=dict.fromkeys(lacking, "")) for entry in rows]
        assert list(read_rows(raw_table(older, schema, version.encode()))) == expected
        for wrong in (raw_table(table, clip_schema(KEYS), version.encode()), raw_table(older, schema, b"3")):
            with pytest.raises(ClipTableError, match=r"expected column [34] to be"):
                open_table(wrong)


@pytest.mark.parametrize("cluster", ["p226", "0123456789AB", "0123456789abc", "/home"])
def test_a_cluster_is_an_opaque_id(cluster: str) -> None:
    """A name of a person, or anything but a hash, does not get into a table of strangers."""
    table = pq.read_table(io.BytesIO(packed(draw_rows(1, 3), KEYS)))
    changed = table.set_column(3, "cluster", pa.array([cluster] * 3))
    with pytest.raises(ClipTableError, match="cluster"):
        list(read_rows(raw_table(changed, clip_schema(KEYS), b"3")))


def test_a_table_without_format_version_is_refused() -> None:
    """A Parquet file of any other origin is not taken for clip rows."""
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([record()], schema=clip_schema([])), out, compression="none")
    with pytest.raises(ClipTableError, match="format version 3, got no version"):
        open_table(out)


def test_compressed_pages_and_unfolding_encodings_are_refused() -> None:
    """Either can turn a kilobyte into gigabytes while it is read."""
    with pytest.raises(ClipTableError, match="ZSTD"):
        open_table(raw(clip_schema([]), record(), compression="zstd"))
    with pytest.raises(ClipTableError, match="DELTA_BYTE_ARRAY"):
        open_table(raw(clip_schema([]), record(), use_dictionary=False, column_encoding={"clip": "DELTA_BYTE_ARRAY"}))


def test_more_rows_than_allowed_are_refused_before_reading() -> None:
    """The limit holds on what the footer declares."""
    with pytest.raises(ClipTableError, match="at most 2 rows, got 3"):
        open_table(io.BytesIO(packed([row(name) for name in "abc"])), max_rows=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"category": "noise"}, "category"),
        ({"status": "maybe"}, "status"),
        ({"encode_s": float("nan")}, "encode_s"),
        ({"clip": "x" * 1001}, "at most 1000 characters in clip"),
        ({"error": "x" * 2001}, "at most 2000 characters in error"),
        ({"pesq": 2.0, "pesq_status": "undefined", "pesq_reason": ""}, "a value goes with ok only"),
        ({"pesq": None, "pesq_status": "ok", "pesq_reason": ""}, "a value goes with ok only"),
        ({"pesq": float("inf"), "pesq_status": "ok", "pesq_reason": ""}, "value"),
        ({"pesq": 1.0, "pesq_status": None, "pesq_reason": None}, "status"),
    ],
)
def test_a_row_that_breaks_the_contract_is_named(fields: dict[str, Any], message: str) -> None:
    """Values are validated one by one, with the number of the row."""
    content = {"pesq": None, "pesq_status": None, "pesq_reason": None, **record(**fields)}
    with pytest.raises(ClipTableError, match=message):
        list(read_rows(raw(clip_schema(["pesq"]), content)))


def test_text_that_is_not_utf_8_is_refused() -> None:
    """Parquet does not check its strings; this reader does."""
    data = packed([row("abcdefgh")])
    with pytest.raises(ClipTableError):
        list(read_rows(io.BytesIO(data.replace(b"abcdefgh", b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe"))))
