"""Rows as columns: the rows, the bytes and the faults that models have."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.clip_columns import block_of, in_row_groups
from codec_superb.pipeline.tables.clips import TEXT_LIMIT, clip_schema, open_table, write_blocks, write_table
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue, ResynthesisRow
from codec_superb.pipeline.tables.stored_rows import StoredRows

KEYS = ("mel", "si_sdr")


def _rows(count: int, **changes: Any) -> list[ClipRow]:
    """Return rows of which every seventh failed and every fifth has an undefined metric."""
    rows = []
    for n in range(count):
        fields: dict[str, Any] = {
            "clip": f"{n:06}.wav", "dataset": "clips", "category": "speech", "status": "ok",
            "cluster": f"{n % 3:012x}" if n % 2 else "",
            "sampling_rate": 8000, "samples": 800 + n, "bits": 6400 + n, "encode_s": 0.1 / (n + 1),
            "resynthesis_sha256": f"{n:064x}",
        }  # fmt: skip
        values = {key: MetricValue(status="ok", value=1 / (n + 3)) for key in KEYS}
        if n % 5 == 4:
            values["mel"] = MetricValue(status="undefined", reason="it is silent")
        if n % 7 == 6:
            fields |= {"status": "failed", "stage": "encode", "error_type": "Lost", "error": "x" * (TEXT_LIMIT + n)}
            values = {key: MetricValue(status="failed", reason="no resynthesis") for key in KEYS}
        rows.append(ClipRow(**{**fields, **changes}, metrics=values))
    return rows


def _written(rows: list[ClipRow]) -> io.BytesIO:
    file = io.BytesIO()
    write_table(file, rows, KEYS)
    return file


def test_columns_are_the_rows_and_their_bytes() -> None:
    """2,500 rows, more than two row groups: read as columns they are equal, and written again the same file."""
    file = _written(_rows(2500))
    stored, models = StoredRows.read(open_table(file)), list(open_table(file))
    assert list(stored) == models
    assert [stored[3], *stored[-2:]] == [models[3], *models[-2:]]
    assert list(stored.not_ok()) == [
        row for row in models if any(value.status != "ok" for value in row.metrics.values())
    ]
    again = io.BytesIO()
    stored.write(again)
    assert again.getvalue() == file.getvalue()
    assert aggregate(stored, metrics=KEYS) == aggregate(models, metrics=KEYS)


def test_a_block_of_a_journal_is_the_table_that_models_make() -> None:
    """What a journal holds becomes the same bytes by columns as by rows."""
    rows = [
        ResynthesisRow(**{k: v for k, v in vars(row).items() if k not in {"metrics", "probes"}}) for row in _rows(1500)
    ]
    by_rows, by_columns = io.BytesIO(), io.BytesIO()
    write_table(by_rows, map(ClipRow.of, rows), ())
    block = block_of([row.model_dump() for row in rows])
    assert block is not None
    write_blocks(by_columns, in_row_groups([block.slice(0, 700), block.slice(700)]), clip_schema(()))
    assert by_columns.getvalue() == by_rows.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"}, {"category": "noise"}, {"stage": "lunch"}, {"cluster": "abc"}, {"slice": "s" * 65},
        {"bits": "many"}, {"encode_s": float("nan")}, {"clip": None}, {"clip": "c" * 1001}, {"error": "\ud800"},
        {"more": 1},
    ],
)  # fmt: skip
def test_a_block_with_something_else_is_left_to_the_models(change: Mapping[str, Any]) -> None:
    """One value that is not what this version writes keeps the whole block from being taken by columns."""
    contents = [row.model_dump(exclude={"metrics", "probes"}) for row in _rows(5)]
    assert block_of(contents) is not None
    assert block_of([*contents, {**contents[0], **change}]) is None


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "fine"), ("category", "noise"), ("stage", "lunch"), ("cluster", "abc"), ("slice", "s" * 65),
        ("encode_s", float("inf")), ("mel", float("nan")), ("mel", None), ("mel_status", "great"), ("mel_status", None),
        ("mel_reason", None),
    ],
)  # fmt: skip
def test_a_fault_in_columns_is_told_as_of_rows(column: str, value: Any) -> None:
    """A table with one wrong cell is refused with the sentence that reading it row by row gives."""
    good = StoredRows.of(_rows(3))
    place = good.table.schema.get_field_index(column)
    cells = pa.array([*good.table[column].to_pylist()[:2], value], good.table.schema.field(place).type)
    table = good.table.set_column(place, good.table.schema.field(place), cells)
    file = io.BytesIO()
    write_blocks(file, [table], table.schema)
    with pytest.raises(ClipTableError) as by_rows:
        list(open_table(file))
    with pytest.raises(ClipTableError) as by_columns:
        StoredRows.read(open_table(file))
    assert str(by_columns.value) == str(by_rows.value)


def test_a_clip_takes_less_than_a_kilobyte() -> None:
    """Of 20,000 rows that are read and aggregated columns take 700 bytes a clip at most, and objects 600."""
    file, count = _written(_rows(20_000)), 20_000
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    stored = StoredRows.read(open_table(file))
    aggregate(stored, metrics=KEYS)
    objects = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pa.total_allocated_bytes() - before < 700 * count
    assert objects < 600 * count
