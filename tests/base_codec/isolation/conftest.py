"""Tests of the isolated runtime share a home with one tiny environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.codecs.isolated import make_tiny_environment


@pytest.fixture(scope="session")
def isolated_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home that has the tiny environment."""
    home = tmp_path_factory.mktemp("isolated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(home))
        make_tiny_environment()
    return home


@pytest.fixture(autouse=True)
def _home(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(isolated_home))
