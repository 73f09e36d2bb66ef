"""Clip blocks: values of single clips, and how long their references are."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest
from support.pipeline.stats import KEYS, draw_rows, failed

from codec_superb.pipeline.tables.clips import write_table
from codec_superb.server.storage.clip_blocks import category_values, lengths


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
