"""The Parquet layout of trials and ranks: what is written comes back, and nothing else is read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.probed import draw_probes
from support.pipeline.stats import card, draw_rows, write_run
from support.profile import examples

from codec_superb.pipeline.errors import ClipTableError, RunFolderError
from codec_superb.pipeline.tables.pairs import FIXED, FORMAT, FORMAT_KEY, pair_schema, read_pairs, write_pairs
from codec_superb.pipeline.tables.rows import CountsRow, PairRow, counts_row

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
PAIR = st.builds(
    PairRow,
    dataset=TEXT,
    probe=st.sampled_from(["asv", "aec"]),
    left=TEXT,
    right=TEXT,
    target=st.booleans(),
    reference=FINITE,
    resynthesis=FINITE,
    enrol_clean=st.one_of(st.none(), FINITE),
)


def counted(clips: int, names: int, probe: str = "tokens_stability") -> list[CountsRow]:
    """Make the counts of clips of a codec."""
    called = tuple(f"match:noise_20:{book}" for book in range(names))
    return [
        counts_row("mini", probe, f"speech/{clip}", called, [clip + 7.0] * names, range(names)) for clip in range(clips)
    ]


def test_counts_of_a_clip_come_back_as_one() -> None:
    """Across batches and row groups, after trials, with the bytes of a row each; names of clips are one object."""
    rows = [PairRow(**PLAIN), *counted(3, 9000)]
    file, each = io.BytesIO(), io.BytesIO()
    assert write_pairs(file, rows) == 27_001
    write_pairs(each, [rows[0], *(pair for row in counted(3, 9000) for pair in row.pairs())])
    assert file.getvalue() == each.getvalue()
    back = read_pairs(file)
    assert [*back] == rows
    assert all(row.names is back[1].names for row in back[2:] if isinstance(row, CountsRow))


def test_many_counts_are_few_rows() -> None:
    """The limit is on clips with counts; all rows have a limit of their own; a count is no trial."""
    file = io.BytesIO()
    write_pairs(file, counted(4, 100))
    assert len(read_pairs(file, max_rows=4)) == 4
    with pytest.raises(ClipTableError, match="at most 3 rows, the counts of a clip as one"):
        read_pairs(file, max_rows=3)
    odd = io.BytesIO()
    write_pairs(odd, [PairRow(**PLAIN | {"probe": "tokens_rate", "target": False})])
    with pytest.raises(ClipTableError, match="target true and no enrol_clean for a count"):
        read_pairs(odd)


PLAIN: dict[str, Any] = {
    "dataset": "mini", "probe": "asv", "left": "a", "right": "b", "target": True, "reference": 0.5, "resynthesis": 0.25,
    "enrol_clean": None,
}  # fmt: skip


def packed(rows: list[PairRow], **options: Any) -> io.BytesIO:
    """Write rows into memory."""
    out = io.BytesIO()
    assert write_pairs(out, rows, **options) == len(rows)
    return out


def raw(schema: pa.Schema, mark: bytes = FORMAT.encode(), record: dict[str, Any] | None = None, **options: Any) -> Any:
    """Write one record without this package, marked as a pair table."""
    out = io.BytesIO()
    usual: dict[str, Any] = {"compression": "none", "store_schema": False}
    known = {name: value for name, value in (record or PLAIN).items() if name in schema.names}
    content = {name: str(v) if pa.types.is_string(schema.field(name).type) else v for name, v in known.items()}
    with pq.ParquetWriter(out, schema, **(usual | options)) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: mark})
        writer.write_table(pa.Table.from_pylist([content], schema=schema))
    return out


@examples(40)
@given(st.lists(PAIR, max_size=8))
def test_pairs_come_back_as_they_went(rows: list[PairRow]) -> None:
    """Any pairs survive the round trip, and are as valid as records that were validated one by one."""
    back = read_pairs(packed(rows))
    assert list(back) == rows
    assert [PairRow.model_validate(row.model_dump()) for row in back] == rows


def test_every_field_of_a_pair_has_its_column_in_its_order() -> None:
    """A field added to PairRow without a column here would be lost silently."""
    assert list(FIXED) == list(PairRow.model_fields)


def test_a_table_over_several_row_groups_keeps_its_order_and_bytes() -> None:
    """Row groups hold 16,384 rows each, and the same rows give the same bytes."""
    few = draw_probes(draw_rows(1, 60), ["asv", "aec"]).pairs
    rows = [row.model_copy(update={"left": f"{row.left}/{n % 1000}"}) for n in range(200) for row in few]
    first = packed(rows)
    assert pq.ParquetFile(first).num_row_groups > 1
    assert list(read_pairs(first)) == rows
    assert packed(list(rows)).getvalue() == first.getvalue()


def test_a_run_folder_keeps_its_pairs_and_has_no_file_without_any(tmp_path: Path) -> None:
    """The second probing of a run may keep none; what the first one kept is then gone."""
    rows = draw_rows(1, 30)
    pairs = draw_probes(rows, ["asv"]).pairs
    run = write_run(tmp_path, rows, card=card())
    assert run.pairs() == ()
    run.write_pairs(pairs)
    assert list(run.pairs()) == pairs
    run.write_pairs([])
    assert run.pairs() == ()
    assert not (run.path / "pairs.parquet").exists()


def test_a_damaged_file_of_a_run_is_named_with_what_to_do(tmp_path: Path) -> None:
    """A copy that broke off: where it lies, what came, and the command that makes it anew."""
    rows = draw_rows(1, 30)
    run = write_run(tmp_path, rows, card=card())
    run.write_pairs(draw_probes(rows, ["asv"]).pairs)
    file = run.path / "pairs.parquet"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(
        RunFolderError, match=r"mini/pairs\.parquet: expected a Parquet file.*probe again with --overwrite"
    ):
        run.pairs()


def test_a_table_that_was_compressed_is_read_as_an_own_one_alone() -> None:
    """A stranger's compressed page could unfold without end."""
    rows = draw_probes(draw_rows(1, 30), ["asv"]).pairs
    kept = packed(rows, compression="zstd")
    assert list(read_pairs(kept, own=True)) == rows
    with pytest.raises(ClipTableError, match="ZSTD"):
        read_pairs(kept)


@pytest.mark.parametrize("data", [b"", b"no", b"PAR1" * 9], ids=["empty", "short", "magic only"])
def test_what_is_no_parquet_is_refused(data: bytes) -> None:
    """Damage is reported as such, never as an exception of a library."""
    with pytest.raises(ClipTableError, match=r"pairs\.parquet: expected a Parquet file"):
        read_pairs(io.BytesIO(data))


def test_every_truncation_is_found() -> None:
    """A table cut anywhere gives an error, not fewer rows."""
    whole = packed(draw_probes(draw_rows(1, 30), ["asv"]).pairs).getvalue()
    for length in range(0, len(whole), 41):
        with pytest.raises(ClipTableError):
            read_pairs(io.BytesIO(whole[:length]))


def test_another_layout_is_refused_with_the_column() -> None:
    """Columns missing, added, reordered or of another type, and null where none may be, are named."""
    schema = pair_schema()
    fields = list(schema)
    cases = {
        "column 7 to be 'enrol_clean' .double., got absent": fields[:-1],
        "column 8 to be absent, got 'more'": [*fields, pa.field("more", pa.int64())],
        "column 2 to be 'left'": [*fields[:2], fields[3], fields[2], *fields[4:]],
        "column 4 to be 'target'": [*fields[:4], pa.field("target", pa.string(), nullable=False), *fields[5:]],
        "column 0 to be 'dataset' .string, never null., got 'dataset' .string.": [
            fields[0].with_nullable(nullable=True), *fields[1:]
        ],
    }  # fmt: skip
    for message, other in cases.items():
        with pytest.raises(ClipTableError, match=message):
            read_pairs(raw(pa.schema(other)))


def test_another_format_is_refused() -> None:
    """A table of a later version, or of any other origin."""
    with pytest.raises(ClipTableError, match="a pair table of format version 1, got version '2'"):
        read_pairs(raw(pair_schema(), mark=b"2"))


def test_unfolding_encodings_are_refused() -> None:
    """They can turn a kilobyte into gigabytes while they are read."""
    with pytest.raises(ClipTableError, match="DELTA_BYTE_ARRAY"):
        read_pairs(raw(pair_schema(), use_dictionary=False, column_encoding={"left": "DELTA_BYTE_ARRAY"}))


def test_more_rows_than_allowed_are_refused_before_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds on what the footer declares, counts included; on trials it holds as they are read."""
    with pytest.raises(ClipTableError, match="at most 2 rows, the counts of a clip as one"):
        read_pairs(packed([PairRow(**PLAIN)] * 3), max_rows=2)
    monkeypatch.setattr("codec_superb.pipeline.tables.pairs.MAX_COUNTS", 2)
    with pytest.raises(ClipTableError, match="at most 2 rows, got 3"):
        read_pairs(packed([PairRow(**PLAIN)] * 3), max_rows=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reference": float("nan")}, "finite numbers in reference"),
        ({"resynthesis": float("inf")}, "finite numbers in resynthesis"),
        ({"enrol_clean": float("-inf")}, "finite numbers in enrol_clean"),
        ({"probe": "asr"}, r"the probes \['aec', 'asv', .*\], got 'asr'"),
        ({"left": "x" * 1001}, "at most 1000 characters in left"),
    ],
)
def test_a_row_that_breaks_the_contract_is_refused(fields: dict[str, Any], message: str) -> None:
    """Every value is checked, whoever wrote the file; the same row without the fault is read."""
    assert read_pairs(raw(pair_schema())) == (PairRow(**PLAIN),)
    with pytest.raises(ClipTableError, match=message):
        read_pairs(raw(pair_schema(), record=PLAIN | fields))


@pytest.mark.parametrize("fields", [{"probe": "asr"}, {"right": "x" * 1001}])
def test_the_writer_refuses_what_the_reader_would(fields: dict[str, Any]) -> None:
    """A table that nobody can read is not written."""
    with pytest.raises(ClipTableError, match="pair 'a'"):
        packed([PairRow(**(PLAIN | fields))])


def test_text_that_is_not_utf_8_is_refused() -> None:
    """Parquet does not check its strings; this reader does."""
    data = packed([PairRow(**(PLAIN | {"left": "abcdefgh"}))]).getvalue()
    with pytest.raises(ClipTableError):
        read_pairs(io.BytesIO(data.replace(b"abcdefgh", b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe")))
