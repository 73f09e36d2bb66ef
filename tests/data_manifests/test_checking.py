"""check: what is missing, changed, undecodable or too much."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.datasets.package_files import noise, wav_bytes

from codec_superb.data_manifests import check
from codec_superb.data_manifests.audio.samples import decode_exactly, samples_sha256, write_flac
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, write_clip_list
from codec_superb.data_manifests.errors import UnknownDataset
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.progress import ProgressUpdate


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Store three clips beside their list."""
    folder = tmp_path / "stored"
    records = []
    for number, name in enumerate(("a", "b", "c")):
        path = folder / "audio" / f"{name}.flac"
        write_flac(path, decode_exactly(wav_bytes(noise(0.1, seed=number)), "x.wav"))
        records.append(_record(name, f"audio/{name}.flac", samples_sha256(path), "samples"))
    write_clip_list(folder, _index("."), records)
    return folder


def _record(clip_id: str, path: str, sha256: str, of: str) -> ClipRecord:
    fields = {"category": "speech", "licence": "CC0-1.0", "attribution": "somebody"}
    return ClipRecord.model_validate(fields | {"id": clip_id, "path": path, "sha256": sha256, "sha256_of": of})


def _index(root: str, expected: int = 3) -> DatasetIndex:
    return DatasetIndex(
        name="stored", manifest_version="1", root=root, clips=0, expected_clips=expected, manifest_hash="0" * 64
    )


def test_a_dataset_that_is_right_is_right(dataset: Path) -> None:
    """Nothing is missing, changed or extra, and each clip is told once."""
    seen: list[ProgressUpdate] = []
    report = check(dataset, seen.append)
    assert report.right
    assert (report.name, report.clips, report.expected_clips) == ("stored", 3, 3)
    assert (report.missing, report.corrupt, report.extra) == ((), (), ())
    assert [(progress.done, progress.item) for progress in seen] == [(1, "a"), (2, "b"), (3, "c")]


def test_missing_changed_and_extra_files_are_told_apart(dataset: Path) -> None:
    """Each has its own list, with the reason where there is one."""
    audio = dataset / "audio"
    (audio / "a.flac").unlink()
    (audio / "b.flac").write_bytes((audio / "c.flac").read_bytes())
    (audio / "c.flac").write_bytes((audio / "c.flac").read_bytes()[:300])
    (audio / "d.flac").write_bytes(b"")
    report = check(dataset)
    assert not report.right
    assert report.missing == ("a",)
    assert [clip_id for clip_id, _ in report.corrupt] == ["b", "c"]
    assert "expected" in report.corrupt[0][1]
    assert "cannot read" in report.corrupt[1][1]
    assert report.extra == ("audio/d.flac",)


def test_a_publishers_folder_is_checked_by_its_files(tmp_path: Path) -> None:
    """The hash is of the file; files beyond the partition are no fault; a wrong number of clips is one."""
    root = tmp_path / "publisher"
    root.mkdir()
    (root / "a.wav").write_bytes(wav_bytes(noise(0.1)))
    (root / "train.wav").write_bytes(wav_bytes(noise(0.1)))
    record = _record("a", "a.wav", file_sha256(root / "a.wav"), "file")
    write_clip_list(tmp_path / "list", _index(str(root), expected=1), [record])
    report = check(tmp_path / "list")
    assert (report.right, report.extra) == (True, ())
    write_clip_list(tmp_path / "list", _index(str(root), expected=2), [record])
    assert not check(tmp_path / "list").right


def test_a_folder_is_checked_by_decoding(tmp_path: Path) -> None:
    """A file that is no audio is corrupt, another file is counted."""
    (tmp_path / "a.wav").write_bytes(wav_bytes(noise(0.1)))
    (tmp_path / "b.wav").write_bytes(b"text")
    (tmp_path / "c.txt").write_bytes(b"text")
    report = check(tmp_path)
    assert (report.clips, report.ignored, report.right) == (2, 1, False)
    assert [clip_id for clip_id, _ in report.corrupt] == ["b.wav"]


def test_an_unknown_dataset_is_told() -> None:
    """Check answers as open_dataset does."""
    with pytest.raises(UnknownDataset):
        check("no-such-dataset")


def test_importing_datasets_is_light() -> None:
    """Listing what there is loads no decoder, no HTTP client and no scientific package."""
    code = (
        "import sys; from codec_superb.data_manifests import list_manifests; list_manifests()\n"
        "heavy = {'soundfile', 'av', 'requests', 'pypi_simple', 'scipy', 'pyarrow', 'torch', 'datasets'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert run.stdout.strip() == "[]"
