"""``codec-superb admin datasets``: what is prepared on this machine becomes what submissions are checked against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import draw_rows, sha

from codec_superb.cli.main import call
from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, write_clip_list
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import known


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a home of its own, without datasets."""
    folder = tmp_path / "home"
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(folder))
    return folder


def prepare(home: Path, clips: int) -> None:
    """Write a clip list of ``mini`` with so many clips."""
    records = [
        ClipRecord(
            id=row.clip, path=f"{row.clip}.flac", category=row.category, licence="CC0-1.0", attribution="by the test",
            sha256=sha(row.clip),
        )
        for row in draw_rows(1, clips)
    ]  # fmt: skip
    version = load_manifest("mini").version
    index = DatasetIndex(name="mini", manifest_version=version, root=".", clips=0, manifest_hash=sha(""))
    write_clip_list(home / "datasets" / "mini", index, records)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Run a command and return its JSON."""
    assert call(["admin", "datasets", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_prepared_dataset_is_added_and_listed(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its hash and clips are what the service then knows; a later state replaces it and the older one stays listed."""
    storage = ("--storage", str(tmp_path / "storage"))
    prepare(home, 6)
    first = said(capsys, "add", "mini", *storage)
    assert (first["clips"], first["changed"]) == (6, True)
    assert not said(capsys, "add", "mini", *storage)["changed"]
    prepare(home, 9)
    second = said(capsys, "add", "mini", *storage)
    dataset = open_dataset("mini")
    database = Database(f"sqlite:///{tmp_path / 'storage' / 'leaderboard.sqlite'}")
    with database.transaction() as session:
        found = known(session, "mini")
    database.close()
    assert found is not None
    assert found.manifest_hash == second["manifest_hash"] == dataset.manifest_hash
    assert set(found.clips) == set(dataset.clip_ids())
    listed = {entry["manifest_hash"]: entry["current"] for entry in said(capsys, "list", *storage)}
    assert (listed[first["manifest_hash"]], listed[second["manifest_hash"]]) == (False, True)


@pytest.mark.parametrize(
    ("name", "words"), [("mini", "codec-superb datasets prepare mini"), ("nothing", "no dataset is called 'nothing'")]
)
def test_a_dataset_that_is_not_here(
    home: Path, tmp_path: Path, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 with the command that prepares it, or that there is none of the name."""
    assert not home.exists()
    assert call(["admin", "datasets", "add", name, "--storage", str(tmp_path / "storage")]) == 2
    assert words in capsys.readouterr().err
