"""Tests of runs leave no trace in the user's home."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give all tests, and the processes they start, a CODEC_SUPERB_HOME of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(tmp_path_factory.mktemp("home")))
        yield
