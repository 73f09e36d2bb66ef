"""One service for all tests that walk through the whole of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.made_once import made_once
from support.server.tour import Tour, make_files, running_tour


@pytest.fixture(scope="session")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    """Run real codecs, serve, upload."""
    files = made_once(tmp_path_factory, "tour-files", make_files)
    with running_tour(tmp_path_factory.mktemp("tour"), files) as running:
        yield running
