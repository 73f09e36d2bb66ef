"""ArrayRecord: the records of a file come out as they went in, and anything else is refused in one sentence."""

from __future__ import annotations

import contextlib
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from support.datasets.svq import array_record
from support.profile import examples

from codec_superb.data_manifests.audio.array_record import read_records
from codec_superb.data_manifests.errors import LayoutError


@pytest.mark.parametrize("compression", ["zstd", "brotli", "none"])
@pytest.mark.parametrize("size", [0, 1, 65_536 - 24 - 40 - 40, 200_000], ids=["empty", "one", "to the end", "blocks"])
def test_records_across_blocks(tmp_path: Path, compression: str, size: int) -> None:
    """The headers of blocks, every 64 KiB, are no part of a record."""
    records = [bytes([n]) * size + bytes(range(256)) * (size // 200) for n in range(3)]
    path = tmp_path / "a.array_record"
    path.write_bytes(array_record(records, compression=compression))
    assert list(read_records(path)) == records


@given(records=st.lists(st.binary(max_size=300), max_size=20))
@examples(60)
def test_any_records(records: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of any content, in any number."""
    path = tmp_path_factory.mktemp("records") / "a.array_record"
    path.write_bytes(array_record(records))
    assert list(read_records(path)) == records


@given(place=st.integers(0, 400), byte=st.integers(0, 255))
@examples(200)
def test_a_damaged_file_ends_in_one_error_or_in_records(
    place: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever byte is changed: no other exception, and no memory beyond what a chunk may have."""
    content = bytearray(array_record([b"RIFF" + bytes(120), b"RIFF" + bytes(range(200))], compression="none"))
    content[place % len(content)] = byte
    path = tmp_path_factory.mktemp("damaged") / "a.array_record"
    path.write_bytes(content)
    with contextlib.suppress(LayoutError):
        assert sum(map(len, read_records(path))) <= 400


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"RIFF" + bytes(200), "no header of a chunk"),
        (array_record([bytes(1000)], compression="none")[:-10], "the last chunk is cut off"),
        (array_record([bytes(1000)])[:70], "buffer"),
    ],
    ids=["another kind", "cut off", "in a header"],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: bytes, complaint: str) -> None:
    """In one line that names the file."""
    path = tmp_path / "a.array_record"
    path.write_bytes(content)
    with pytest.raises(LayoutError, match=complaint) as caught:
        list(read_records(path))
    assert "\n" not in str(caught.value)
