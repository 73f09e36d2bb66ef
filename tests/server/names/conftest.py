"""A service on each kind of database that takes anonymous files too; tests use names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.server.ingest import Service, service_on


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service; pages show all that it stores, whatever another test has verified."""
    yield from service_on(request, tmp_path_factory.mktemp("service"), anonymous_uploads=True, default_source="runs")
