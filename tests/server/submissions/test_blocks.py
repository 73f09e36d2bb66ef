"""Clip blocks: values of single clips, and how long their references are."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.pipeline.stats import KEYS, draw_rows, failed
from support.server import compare

from codec_superb.pipeline.tables.clips import write_table
from codec_superb.pipeline.tables.rows import MetricValue
from codec_superb.server.database.models import ClipBlock
from codec_superb.server.storage.clip_blocks import block_row, category_values, lengths
from codec_superb.server.submissions.clips import as_csv, as_json, table_of


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
    table = table_of([ClipBlock(data=data)])
    pieces = [len(piece) for piece in as_json(table, 0, 10_000, {"total": len(rows)})]
    assert pa.total_allocated_bytes() - before < 3_000_000
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert sum(pieces) > 20_000_000
    written = json.loads(b"".join(as_json(table, 1990, 10_000, {"total": len(rows)})))
    assert [len(written["clips"]), written["total"], written["clips"][0]["clip"]] == [10, 2000, "mini/1990"]
    lines = list(csv.DictReader(io.StringIO(b"".join(as_csv(table)).decode())))
    assert [len(lines), lines[-1]["clip"], lines[-1]["pesq_reason"]] == [2000, "mini/1999", f"'{reason}"]
    assert block_row(data, "mini/0007", "it") == rows[7]
