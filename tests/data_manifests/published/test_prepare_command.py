"""``datasets prepare`` says what it would fetch and asks; ``bench --suite`` lists what is missing before it starts."""

from __future__ import annotations

import io
import os
import pty
from pathlib import Path

import pytest
from support.datasets.archives import librispeech, published, served, tar_gz
from support.datasets.package_files import IndexServer

from codec_superb.cli.commands import bench
from codec_superb.cli.main import call
from codec_superb.cli.selection import protocol
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, write_clip_list
from codec_superb.data_manifests.dataset import open_dataset
from codec_superb.data_manifests.errors import DatasetNotPrepared
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.published.suites import suite
from codec_superb.pipeline.errors import PipelineError

_NAME = "test-clean.tar.gz"


@pytest.fixture
def tiny(index: IndexServer, tmp_path: Path) -> str:
    """Write a manifest whose licence has to be agreed to; return its path."""
    archive = served(index, _NAME, tar_gz(librispeech("test-clean")))
    manifest = published("librispeech", archive, splits=("test-clean",), agreement="Research only.")
    (tmp_path / "tiny.yaml").write_text(manifest.model_dump_json())
    return str(tmp_path / "tiny.yaml")


def test_size_licence_and_place_are_said_before_it_is_fetched(
    tiny: str,
    index: IndexServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """Without a yes and an agreement nothing comes; with them, the report of an indexing, and at last nothing to do."""
    place, agreed = str(tmp_path / "place"), ("--accept-licence", "CC0-1.0")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert call(["datasets", "prepare", tiny, place, "--yes"]) == 2
    said = capsys.readouterr().err
    assert all(part in said for part in ("Tiny: ", " kB from https://", "licence: CC0-1.0", f"into: {place} ("))
    assert 'add --accept-licence "CC0-1.0" if you agree' in said
    assert call(["datasets", "prepare", tiny, place, *agreed]) == 2
    assert "nobody can be asked here whether to fetch this" in capsys.readouterr().err
    assert not index.requests
    master, slave = pty.openpty()
    request.addfinalizer(lambda: os.close(master))
    terminal = os.fdopen(slave)
    request.addfinalizer(terminal.close)
    monkeypatch.setattr("sys.stdin", terminal)
    os.write(master, b"n\n")
    assert call(["datasets", "prepare", tiny, place, *agreed]) == 2
    assert not index.requests
    os.write(master, b"y\n")
    assert call(["datasets", "prepare", tiny, place, *agreed, "--remove-archives"]) == 0
    told = capsys.readouterr()
    assert "tiny: 2 clips" in told.out
    assert f"{_NAME}: downloading, MB" in told.err
    assert f"{_NAME}: unpacking, MB" in told.err
    assert not list((tmp_path / "place" / "archives").glob("*.tar.gz"))
    assert call(["datasets", "prepare", tiny, place]) == 0
    assert capsys.readouterr().out == f"tiny: 2 clips, all there before, in {place}\n"
    assert call(["datasets", "prepare", "mini", place]) == 2
    assert "mini has no place to choose" in capsys.readouterr().err


def test_a_suite_lists_what_is_missing_and_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each dataset with its size and command; a name that nobody knows is told with those that are."""
    assert call(["bench", "--suite", "ultraeval", "--out", str(tmp_path / "runs")]) == 2
    told = capsys.readouterr()
    assert "3 of 3 datasets are not here" in told.out
    rows = [line.split() for line in told.out.splitlines() if line.startswith(("librispeech", "aishell1"))]
    assert rows[0][:3] == ["librispeech_dev_clean", "337.9", "MB"]
    assert rows[2][-4:] == ["codec-superb", "datasets", "prepare", "aishell1"]
    assert "--suite ultraeval: prepare the datasets above first; nothing was started" in told.err
    assert not (tmp_path / "runs").exists()
    assert call(["bench", "--suite", "speach"]) == 2
    assert "no suite is called 'speach' (did you mean speech?); expected one of codec_superb" in capsys.readouterr().err


def _stand_in(name: str, version: str = "1") -> None:
    """Have the list of a dataset here, without audio."""
    record = ClipRecord(
        id="a", path="a.wav", category="speech", sampling_rate=16000, licence="x", attribution="x", sha256="0" * 64
    )
    index = DatasetIndex(name=name, manifest_version=version, root=".", clips=1, manifest_hash="0" * 64)
    write_clip_list(datasets_home() / name, index, [record])


def test_a_dataset_of_another_version_names_every_step() -> None:
    """Those by hand from the first on, whatever stands in them."""
    _stand_in("fluent_speech_commands", "0")
    with pytest.raises(DatasetNotPrepared, match=r"is of version 0, its manifest of 1:\n  1\. fill in the form"):
        open_dataset("fluent_speech_commands")


def test_what_is_here_of_a_suite_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--available``; with the applications that the protocol asks for, unless others are named."""
    _stand_in("aishell1")
    with pytest.raises(DatasetNotPrepared, match="or add --available to run the other 1; nothing was started"):
        protocol("ultraeval", (), (), available=False)
    assert protocol("ultraeval", (), (), available=True) == (["aishell1"], ["ultra"])
    assert "left out: librispeech_dev_clean, librispeech_test_clean" in capsys.readouterr().err
    for name in suite("ultraeval").datasets:
        _stand_in(name)
    assert protocol("ultraeval", ["mini"], ["asr"], available=False) == (
        [*suite("ultraeval").datasets, "mini"],
        ["asr"],
    )
    assert protocol("mini", (), (), available=False) == (list(bench.DATASETS), [])
    assert protocol(None, (), ["asr"], available=False) == ([], ["asr"])
    with pytest.raises(PipelineError, match="name it with --suite"):
        protocol(None, ["mini"], (), available=True)
