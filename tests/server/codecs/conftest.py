"""Packed submissions for the tests of a codec's page, and one service on each database that only answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.codec_page import EVIL, Packed, Site, fill, packed
from support.server.databases import database_of_kind

from codec_superb.server.app import create_app
from codec_superb.server.settings import Settings


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """Pack them."""
    folder = tmp_path_factory.mktemp("packed")
    neural = {
        "title": "EnCodec 24 kHz, 6 kbps", "kind": "neural", "frame_rate": 75.0, "codebooks": 8,
        "codebook_size": 1024, "nominal_kbps": 6.0, "sampling_rate": 24000, "parameters": 14_850_000,
    }  # fmt: skip
    hostile = {
        "title": EVIL, "licence": EVIL, "paper": "javascript:alert(1)", "version": "50 % {of} \\TeX_$",
        "standard": EVIL,
    }  # fmt: skip
    return Packed(
        first=packed(folder / "a", clips=9, samples=2, expected=30),
        second=packed(folder / "b", clips=12, samples=2, quality=0.2, broken=(4,), expected=30),
        tokens=packed(folder / "c", "encodec_24k_6bps", samples=0, tokens=600, another=True, card_fields=neural),
        evil=packed(folder / "d", "evil_codec.1", samples=0, card_fields=hostile),
    )


@pytest.fixture(scope="session", params=("sqlite", "postgresql"))
def site(request: pytest.FixtureRequest, files: Packed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Run one service on each kind of database for all tests that change nothing."""
    folder = tmp_path_factory.mktemp("site")
    with ExitStack() as stack:
        url = stack.enter_context(database_of_kind(request, folder))
        settings = Settings(database=url, storage=folder / "storage", secret_key="x" * 40)
        app = create_app(settings)
        client = stack.enter_context(TestClient(app))
        yield Site(app, client, fill(app.state.database, settings, files), app.state.database, settings)


@pytest.fixture
def own_site(files: Packed, app: FastAPI, client: TestClient, settings: Settings) -> Site:
    """Give a service of the test's own, which it may change."""
    return Site(app, client, fill(app.state.database, settings, files), app.state.database, settings)
