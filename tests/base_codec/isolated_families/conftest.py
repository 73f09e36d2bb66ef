"""Private environments are built for real, in a home of their own that is removed afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    home: Path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(home))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield
    shutil.rmtree(home)
