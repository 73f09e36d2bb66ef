"""Every test of datasets has a home folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.datasets.layouts import Tree, make_recordings
from support.datasets.package_files import IndexServer, only_this_index

from codec_superb.data_manifests.home import HOME_VARIABLE


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Keep tests away from the user's own datasets, but for those that are marked ``network``."""
    folder = tmp_path / "home"
    if request.node.get_closest_marker("network") is None:
        monkeypatch.setenv(HOME_VARIABLE, str(folder))
    return folder


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[IndexServer]:
    """Serve a package index on this machine; pip is configured with it and with nothing else."""
    with IndexServer() as server:
        only_this_index(monkeypatch, tmp_path, server.url)
        yield server


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One short recording per file format."""
    return make_recordings(tmp_path_factory.mktemp("recordings"))


@pytest.fixture
def tree(tmp_path: Path, recordings: dict[str, Path]) -> Tree:
    """Make an empty publisher's folder."""
    root = tmp_path / "root"
    root.mkdir()
    return Tree(root, recordings)
