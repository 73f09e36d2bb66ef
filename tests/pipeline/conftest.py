"""Tests of runs leave no trace in the user's home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def runs_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the home folder that all tests of runs share."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", autouse=True)
def _own_home(runs_home: Path) -> Iterator[None]:
    """Give these tests, and the processes they start, a CODEC_SUPERB_HOME of their own.

    Module by module: tests of other folders, which the same process may run in between, keep theirs.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(runs_home))
        yield
