"""Static files go out compressed to who takes gzip, and plain to everybody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from codec_superb.server.http.static_files import router
from codec_superb.web.site.assets import asset_named, asset_url


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """Run an application that has static files and nothing else."""
    app = FastAPI()
    app.include_router(router)
    with TestClient(app) as running:
        yield running


@pytest.mark.parametrize(
    ("header", "packed"),
    [("gzip", True), ("*", True), ("br, gzip;q=0.2", True), ("gzip;q=0", False), ("*;q=0", False), ("identity", False)],
)
@pytest.mark.parametrize("name", ["site.css", "plotly.js"])
def test_gzip_is_for_who_takes_it(client: TestClient, name: str, header: str, packed: bool) -> None:
    """A weight of 0 is a no; both forms are the same file, kept for good, and caches are told that it varies."""
    answer = client.get(asset_url(name), headers={"accept-encoding": header})
    assert (answer.headers.get("content-encoding") == "gzip") is packed
    assert answer.content == asset_named(name).content
    assert answer.headers["vary"] == "Accept-Encoding"
    assert "immutable" in answer.headers["cache-control"]
    assert (int(answer.headers["content-length"]) < len(answer.content)) is packed
