"""Tests of isolated backends share a home with one tiny environment; those marked `isolated` build the real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.codecs.isolated import make_tiny_environment


@pytest.fixture(scope="session")
def tiny_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home that has the tiny environment."""
    home = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(home))
        make_tiny_environment()
    return home
