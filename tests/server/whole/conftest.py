"""One service for all tests that walk through the whole of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.server.tour import Tour, running_tour


@pytest.fixture(scope="session")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    """Run real codecs, serve, upload."""
    with running_tour(tmp_path_factory.mktemp("tour")) as running:
        yield running
