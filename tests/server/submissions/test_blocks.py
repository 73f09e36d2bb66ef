"""Clip blocks: values of single clips, and how long their references are."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
import weakref
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.pipeline.stats import KEYS, draw_rows, failed
from support.server import compare

from codec_superb.pipeline.tables.clips import ROW_GROUP, write_table
from codec_superb.pipeline.tables.rows import MetricValue
from codec_superb.server.storage import block_parts
from codec_superb.server.storage.block_parts import StoredBlock, row_groups
from codec_superb.server.storage.clip_blocks import block_row, block_table, category_values, lengths
from codec_superb.server.submissions.clips import AT_ONCE, as_csv, as_json, as_parquet


def read(
    blocks: Sequence[bytes], offset: int = 0, limit: int | None = None, asked: list[int] | None = None
) -> Iterator[pa.Table]:
    """Read rows of blocks as the service does from its database; ``asked`` gets the length of each read."""

    def stored(at: int, data: bytes) -> StoredBlock:
        def some(start: int, count: int) -> bytes:
            if asked is not None:
                asked.append(count)
            return data[start : start + count]

        rows = pq.read_metadata(io.BytesIO(data)).num_rows
        return StoredBlock(("x", str(at)), rows, lambda: len(data), some)

    return row_groups([stored(*each) for each in enumerate(blocks)], {}, offset, limit)


def page(blocks: Sequence[bytes], offset: int, limit: int) -> pa.Table:
    """Read a page of rows."""
    tables = list(read(blocks, offset, limit))
    return pa.concat_tables(tables) if tables else pa.table({})


@pytest.fixture
def block() -> bytes:
    """Nine clips of three categories, one without a resynthesis, compressed as the service stores them."""
    rows = [failed("mini/clip000") if at == 0 else row for at, row in enumerate(draw_rows(1, 9))]
    plain, dense = io.BytesIO(), io.BytesIO()
    write_table(plain, rows, [*KEYS, "si_sdr"])
    plain.seek(0)
    pq.write_table(pq.read_table(plain), dense, compression="zstd")
    return dense.getvalue()


def test_values_of_a_category(block: bytes) -> None:
    """Only clips of the category with a value; a metric without any is absent."""
    found = category_values(block, "speech")
    expected = [row.metrics["pesq"].value for row in draw_rows(1, 9)[3::3]]
    assert found["pesq"].tolist() == expected
    assert set(found) == set(KEYS)
    assert category_values(block, "noise") == {}


def test_lengths_of_clips(block: bytes) -> None:
    """Samples and rate where both are known."""
    assert lengths(block, ["mini/clip001", "mini/clip000", "nothing"]) == {"mini/clip001": (16001, 16000)}


def test_a_long_reason_in_every_row_is_read_once() -> None:
    """A block of kilobytes whose texts would be 20 MB is read, and its rows are written a few at a time."""
    reason = "=" + 1999 * "r"
    broken = {key: MetricValue(status="failed", value=None, reason=reason) for key in KEYS}
    (row,) = draw_rows(1, 1)
    rows = [row.model_copy(update={"clip": f"mini/{at:04}", "metrics": broken}) for at in range(2000)]
    data = compare.block(rows, KEYS)
    assert len(data) < 100_000
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    pieces = [len(piece) for piece in as_json(read([data], 0, 10_000), {"total": len(rows)})]
    assert pa.total_allocated_bytes() - before < 3_000_000
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert sum(pieces) > 20_000_000
    written = json.loads(b"".join(as_json(read([data], 1990, 10_000), {"total": len(rows)})))
    assert [len(written["clips"]), written["total"], written["clips"][0]["clip"]] == [10, 2000, "mini/1990"]
    lines = list(csv.DictReader(io.StringIO(b"".join(as_csv(read([data]))).decode())))
    assert [len(lines), lines[-1]["clip"], lines[-1]["pesq_reason"]] == [2000, "mini/1999", f"'{reason}"]
    assert block_row(data, "mini/0007", "it") == rows[7]


@pytest.fixture(scope="module")
def groups() -> bytes:
    """Three row groups as the service writes them, the last one short."""
    (row,) = draw_rows(1, 1)
    out = io.BytesIO()
    rows = [row.model_copy(update={"clip": f"mini/{at:04}"}) for at in range(2 * ROW_GROUP + 9)]
    write_table(out, rows, KEYS, compression="zstd")
    return out.getvalue()


class TestPages:
    """Pages of rows of blocks with several row groups."""

    def test_a_page_is_a_slice_of_all_rows(self, groups: bytes) -> None:
        """Within a row group, across the ends of groups and of blocks, and behind the last row."""
        every = pa.concat_tables(map(block_table, [groups, groups]))
        assert b"".join(as_csv(read([groups, groups]))) == b"".join(as_csv([every]))
        alive: list[weakref.ref[pa.Table]] = []

        def one_by_one() -> Iterator[pa.Table]:
            for group in read([groups, groups]):
                alive.append(weakref.ref(group))
                yield group
                del group
                assert sum(each() is not None for each in alive) <= 2  # the first, and that which is written

        as_parquet(one_by_one(), out := io.BytesIO())
        assert pq.read_table(out).to_pylist() == every.to_pylist()
        assert len(alive) == 6
        size = every.num_rows // 2
        for offset in (0, 7, ROW_GROUP - 1, ROW_GROUP, 2 * ROW_GROUP + 8, size - 1, size, size + ROW_GROUP, 2 * size):
            for limit in (1, 2, ROW_GROUP + 2, 2 * size):
                assert page([groups, groups], offset, limit).to_pylist() == every.slice(offset, limit).to_pylist()

    def test_a_reader_holds_what_it_has_asked_for(self, groups: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each row group is read when its first row is written; where they are small, several are, and none twice."""
        monkeypatch.setattr(block_parts, "_READ", 1)
        asked: list[int] = []
        rows = as_csv(read([groups] * 4, asked=asked))
        asked.clear()  # of footers
        next(rows)
        assert len(asked) == 1
        for _ in range(ROW_GROUP // AT_ONCE):
            next(rows)
        assert len(asked) == 1
        rest = list(rows)
        assert (len(asked), len(rest)) == (12, 4 * (2 * (ROW_GROUP // AT_ONCE + 1) + 1) - (ROW_GROUP // AT_ONCE + 1))
        assert max(asked) < sum(asked) / 8
        monkeypatch.setattr(block_parts, "_READ", len(groups))
        together: list[int] = []
        tables = read([groups] * 4, asked=together)
        together.clear()
        assert sum(table.num_rows for table in tables) == 4 * (2 * ROW_GROUP + 9)
        assert (len(together), sum(together)) == (4, sum(asked))

    def test_other_row_groups_are_not_read(self, groups: bytes) -> None:
        """With the bytes of all others destroyed, the rows of one still come; rows of the others do not."""
        metadata = pq.read_metadata(io.BytesIO(groups))
        column = metadata.row_group(1).column(0)
        first = column.dictionary_page_offset or column.data_page_offset
        behind = first + sum(
            metadata.row_group(1).column(at).total_compressed_size for at in range(metadata.num_columns)
        )
        footer = len(groups) - 8 - int.from_bytes(groups[-8:-4], "little")
        damaged = b"PAR1" + bytes(first - 4) + groups[first:behind] + bytes(footer - behind) + groups[footer:]
        wanted = page([damaged], ROW_GROUP, ROW_GROUP)
        assert wanted.to_pylist() == page([groups], ROW_GROUP, ROW_GROUP).to_pylist()
        for offset in (ROW_GROUP - 1, ROW_GROUP + 1):
            with pytest.raises((OSError, pa.ArrowException)):
                page([damaged], offset, ROW_GROUP)
