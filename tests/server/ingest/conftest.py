"""A service for the tests of uploads, one on each kind of database: starting one takes a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.server.ingest import Service, service_on


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service on each kind of database; tests use codec names of their own."""
    yield from service_on(request, tmp_path_factory.mktemp("service"))
