"""An application with routes that do what the middleware must cope with, and its log as data."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import StreamingResponse
from sqlalchemy import text
from starlette.testclient import TestClient

from codec_superb.server.app import create_app
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.operations import logs
from codec_superb.server.people.access import Caller, Identity
from codec_superb.server.settings import Settings

Log = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """Add routes that fail in each way to the real application."""
    made = create_app(settings)
    router = APIRouter(prefix="/api/v1/trial")

    @router.get("/codecs/{name}")
    def good(name: str) -> str:
        return name

    @router.get("/fault")
    def fault() -> None:
        raise ZeroDivisionError("the secret reason")

    @router.get("/late-fault")
    def late_fault() -> StreamingResponse:
        def parts() -> Iterator[bytes]:
            yield b"begun"
            raise ZeroDivisionError("too late for an answer")

        return StreamingResponse(parts())

    @router.get("/query")
    def query(session: ReadTransaction) -> int:
        return session.execute(text("SELECT 7")).scalar_one()

    @router.get("/who")
    def who(caller: Caller) -> Identity:
        return caller

    made.include_router(router)
    return made


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """Answer faults as the real server does, instead of raising them into the test."""
    with TestClient(app, raise_server_exceptions=False) as running:
        yield running


@pytest.fixture
def log() -> Iterator[Log]:
    """Configure the service's JSON log for one test and give its lines."""
    root, stream = logging.getLogger(), io.StringIO()
    before = root.handlers[:], root.level
    uvicorn = logging.getLogger("uvicorn")  # a server that ran in this process may have set it up for itself
    uvicorn.handlers[:], uvicorn.propagate, logging.getLogger("uvicorn.error").handlers[:] = [], True, []
    logs.configure("json", stream)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # the test's own client
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:], root.level = before
    logging.captureWarnings(capture=False)
