"""Clip lists in Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.objects.fixtures import s3, s3_of_process
from support.objects.s3 import S3

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, ObjectPart, hash_records
from codec_superb.data_manifests.errors import ManifestError
from codec_superb.data_manifests.lists import clip_table
from codec_superb.data_manifests.lists.clip_table import ClipTable, write_clip_table
from codec_superb.data_manifests.manifest import ManifestLabels

__all__ = ["s3", "s3_of_process"]
INDEX = DatasetIndex(name="birds", manifest_version="1", root=".", clips=0, manifest_hash="0" * 64)


def _records(count: int) -> list[ClipRecord]:
    labels = ManifestLabels(text="A “bird”\nsings", events=("wren", "robin"), extra={"garden": "1"})
    part = ObjectPart(version='"e"', size=7, start=512, suffix=".mp3")
    return [
        ClipRecord(
            id=f"{'é' if number % 3 else 'a'}/{number:05}", path=f"{number}.wav", category="audio", licence="CC0-1.0",
            attribution="A", sha256=f"{number:064x}", labels=labels if number % 2 else ManifestLabels(),
            object=part if number % 5 == 0 else None, frames=number + 1, sha256_of="samples" if number % 7 else "file",
        )
        for number in range(count)
    ]  # fmt: skip


def test_a_table_gives_back_every_clip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, order, clips with all their fields and the hash are those of a list of lines, over many row groups."""
    monkeypatch.setattr(clip_table, "GROUP_ROWS", 7)
    records = sorted(_records(50), key=lambda record: record.id)
    index = write_clip_table(tmp_path, INDEX, iter(records))
    table = ClipTable(tmp_path / "clips.parquet")
    assert (index.clips, index.manifest_hash) == (50, hash_records(records))
    assert list(table.ids()) == [record.id for record in records]
    assert table.ids()[-3:] == [record.id for record in records[-3:]]
    assert [table.record(record.id) for record in reversed(records)] == records[::-1]
    assert list(table.records()) == records
    for unknown in ("", "a/00001x", "zz", "é/99999"):
        assert unknown not in table.ids()
        with pytest.raises(KeyError):
            table.record(unknown)


@pytest.mark.network
def test_a_table_in_a_store_is_not_fetched(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a list in a store costs its footer, and a clip the row group that has it, in a few requests."""
    monkeypatch.setattr(clip_table, "GROUP_ROWS", 500)
    records = sorted(_records(10_000), key=lambda record: record.id)
    write_clip_table(tmp_path, INDEX, records)
    content = (tmp_path / "clips.parquet").read_bytes()
    s3.put("list/clips.parquet", content)
    s3.put("list/index.json", (tmp_path / "index.json").read_bytes())
    dataset = open_dataset(f"{s3.url}/list")
    assert len(dataset) == 10_000
    s3.requests.clear()
    for record in records[700:750]:
        assert dataset.clip(record.id).attribution == "A"
    assert len(s3.requests) <= 3
    assert sum(each.sent for each in s3.requests) < len(content) / 10
    assert dataset.clip_ids()[9_999] == records[-1].id


def test_an_order_that_would_lose_clips_is_refused(tmp_path: Path) -> None:
    """Ids out of order or twice, a table without statistics and one of other columns are told apart from a list."""
    first, second, *_ = sorted(_records(3), key=lambda record: record.id)
    for wrong, said in (([second, first], "sorted by id, each id once"), ([first, first], "is given twice")):
        with pytest.raises(ManifestError, match=said):
            write_clip_table(tmp_path, INDEX, wrong)
    assert not (tmp_path / "index.json").exists()
    write_clip_table(tmp_path, INDEX, [first, second])
    table = pq.read_table(tmp_path / "clips.parquet")
    pq.write_table(table, tmp_path / "bare.parquet", write_statistics=False)
    with pytest.raises(ManifestError, match="does not state its first and last id"):
        ClipTable(tmp_path / "bare.parquet")
    pq.write_table(table.drop_columns(["sha256"]), tmp_path / "other.parquet")
    with pytest.raises(ManifestError, match="no columns sha256"):
        ClipTable(tmp_path / "other.parquet")
    (tmp_path / "none.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(ManifestError, match="no clip list that can be read"):
        ClipTable(tmp_path / "none.parquet")
