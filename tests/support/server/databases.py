"""A migrated, empty database of the kind that a test's parameter names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def database_of_kind(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """Give the URL of a database of the kind ``request.param``: a file in ``folder``, or one of the test's server."""
    if request.param == "sqlite":
        file = folder / "leaderboard.sqlite"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        yield f"sqlite:///{file}"
    else:
        with request.getfixturevalue("postgres").database() as url:
            yield url
