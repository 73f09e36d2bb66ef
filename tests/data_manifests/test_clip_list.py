"""The clip list on disk, and the hash of a dataset."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support.datasets.package_files import noise, wav_bytes

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.clip_list import (
    CLIPS_FILE,
    INDEX_FILE,
    ClipRecord,
    DatasetIndex,
    hash_records,
    read_index,
    read_records,
    write_clip_list,
)
from codec_superb.data_manifests.errors import DatasetNotPrepared, ManifestError
from codec_superb.data_manifests.stored_dataset import StoredDataset


def _record(clip_id: str = "a", **changes: Any) -> ClipRecord:
    fields = {
        "id": clip_id,
        "path": f"{clip_id}.wav",
        "category": "speech",
        "licence": "CC0-1.0",
        "attribution": "somebody",
        "sha256": hashlib.sha256(clip_id.encode()).hexdigest(),
        "labels": {"text": 'she said "id":"b"', "events": ["voice"], "extra": {"take": "1"}},
    }
    return ClipRecord.model_validate(fields | changes)


def _index(**changes: Any) -> DatasetIndex:
    fields = {"name": "birds", "manifest_version": "1", "root": ".", "clips": 0, "manifest_hash": "0" * 64}
    return DatasetIndex.model_validate(fields | changes)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Records come back as they were, sorted by id; the index has their number and hash."""
    records = [_record("b"), _record("a/x y"), _record("ä")]
    index = write_clip_list(tmp_path, _index(), records)
    assert read_index(tmp_path) == index
    assert list(read_records(tmp_path)) == sorted(records, key=lambda record: record.id)
    assert (index.clips, index.manifest_hash) == (3, hash_records(records))


def test_the_hash_is_what_it_always_was() -> None:
    """A submission carries it: a change of the algorithm would make datasets look different."""
    line = '{"id":"a","labels":{"events":["voice"],"extra":{"take":"1"},"text":"hi"},"sha256":"' + "0" * 64 + '"}\n'
    record = _record(sha256="0" * 64, labels={"text": "hi", "events": ["voice"], "extra": {"take": "1"}})
    assert hash_records([record]) == hashlib.sha256(line.encode()).hexdigest()


def test_the_hash_knows_audio_and_labels_and_nothing_of_the_machine() -> None:
    """Order, paths and licences do not change it; audio, ids and labels do."""
    records = [_record("a"), _record("b")]
    base = hash_records(records)
    assert base == hash_records(reversed(records))
    assert base == hash_records([_record("a", path="elsewhere/a.flac", licence="MIT"), _record("b")])
    assert base != hash_records([_record("a", sha256="f" * 64), _record("b")])
    assert base != hash_records([_record("a", labels={"text": "other"}), _record("b")])
    assert base != hash_records([_record("a"), _record("c", sha256=_record("b").sha256)])


def test_an_id_given_twice_is_refused(tmp_path: Path) -> None:
    """Two clips of one id would overwrite each other's results."""
    with pytest.raises(ManifestError, match="'a' is given twice"):
        write_clip_list(tmp_path, _index(), [_record(), _record()])


def test_a_stored_dataset_gives_its_clips(tmp_path: Path) -> None:
    """Clips come with absolute paths, labels and the dataset's name; an unknown id is a KeyError."""
    root = tmp_path / "publisher"
    root.mkdir()
    (root / "a.wav").write_bytes(wav_bytes(noise(0.1)))
    write_clip_list(tmp_path / "list", _index(root=str(root)), [_record("b"), _record("a")])
    dataset = StoredDataset(tmp_path / "list")
    assert (len(dataset), list(dataset.clip_ids()), dataset.name) == (2, ["a", "b"], "birds")
    clip = dataset.clip("a")
    assert clip.path == root / "a.wav"
    assert clip.load()[1] == 16_000
    assert (clip.labels.text, clip.labels.events, clip.labels.extra) == (
        'she said "id":"b"',
        ("voice",),
        (("take", "1"),),
    )
    with pytest.raises(KeyError):
        dataset.clip("c")


def test_a_folder_with_a_clip_list_is_opened_by_it(tmp_path: Path) -> None:
    """open_dataset finds the list; paths relative to the folder move with it."""
    write_clip_list(tmp_path, _index(), [_record()])
    dataset = open_dataset(tmp_path)
    assert isinstance(dataset, StoredDataset)
    assert dataset.clip("a").path == tmp_path / "a.wav"


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text.replace('"category":"speech"', '"category":"noise"'), "clip a is no clip: category"),
        (lambda text: "\n".join(text.splitlines()[:1]) + "\n", "expected 2 clips, got 1"),
        (lambda text: text[:20], "line 1 is no clip"),
    ],
    ids=["wrong field", "line missing", "cut off"],
)
def test_a_damaged_list_is_told(tmp_path: Path, damage: Any, complaint: str) -> None:
    """The error names the file and the place."""
    write_clip_list(tmp_path, _index(), [_record("a"), _record("b")])
    path = tmp_path / CLIPS_FILE
    path.write_text(damage(path.read_text()))
    with pytest.raises(ManifestError, match=complaint):
        StoredDataset(tmp_path).clip("a")


def test_a_damaged_index_and_a_missing_list_are_told(tmp_path: Path) -> None:
    """Neither is taken for an empty dataset; a folder without any is not prepared."""
    with pytest.raises(DatasetNotPrepared, match=r"no index\.json"):
        StoredDataset(tmp_path)
    write_clip_list(tmp_path, _index(), [_record()])
    (tmp_path / CLIPS_FILE).unlink()
    with pytest.raises(ManifestError, match="is missing"):
        StoredDataset(tmp_path)
    (tmp_path / INDEX_FILE).write_text("{}")
    with pytest.raises(ManifestError, match="is no dataset index: name: Field required"):
        StoredDataset(tmp_path)
