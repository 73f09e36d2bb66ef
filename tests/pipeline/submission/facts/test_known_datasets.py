"""What this machine knows about datasets is used by the check, and a name in a file opens nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pipeline.stats import card, draw_rows, sha, write_run

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, write_clip_list
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.known_datasets import prepared_dataset
from codec_superb.pipeline.submission.pack import pack


@pytest.fixture
def mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DatasetIndex:
    """Prepare a clip list of ``mini`` with nine clips in a home folder of the test."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    records = [
        ClipRecord(
            id=entry.clip,
            path=f"{entry.clip}.flac",
            category=entry.category,
            licence="CC0-1.0",
            attribution="by the test",
            sha256=sha(entry.clip),
        )
        for entry in draw_rows(1, 9)
    ]
    index = DatasetIndex(
        name="mini", manifest_version=load_manifest("mini").version, root=".", clips=0, manifest_hash=sha("")
    )
    return write_clip_list(tmp_path / "home" / "datasets" / "mini", index, records)


def test_a_prepared_dataset_verifies_a_submission(tmp_path: Path, mini: DatasetIndex) -> None:
    """Hash and clips agree: lengths that no file states are noted; another hash is a problem."""
    known = prepared_dataset("mini")
    assert known is not None
    assert known.manifest_hash == mini.manifest_hash == open_dataset("mini").manifest_hash
    true = write_run(tmp_path / "1", draw_rows(1, 9), card=card(), manifest_hash=mini.manifest_hash)
    report = check(pack([true], tmp_path / "a.zip"), known=prepared_dataset)
    assert (report.ok, report.notes) == (True, ("mini: the lengths of its clips are not known here, and not compared",))
    other = write_run(tmp_path / "2", draw_rows(1, 9), card=card())
    report = check(pack([other], tmp_path / "b.zip"), known=prepared_dataset)
    assert [problem.path for problem in report.problems] == ["submission.json: datasets.0.manifest_hash"]


def test_a_dataset_that_is_not_here_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not prepared, no manifest of that name, or a folder of this machine: nothing is known and nothing is opened."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "voices").mkdir()
    assert prepared_dataset("mini") is None
    assert prepared_dataset("voices") is None
    assert prepared_dataset(str(tmp_path)) is None
    assert prepared_dataset("../home") is None
