"""Chats behind an address: a server of the tests, a key, and a guard that lets nothing leave this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.applications.model_server import ModelServer, model_server

KEY = "s3cret-of-the-tests"


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fail on any other address; begin without answers, with a key."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in {"127.0.0.1", "::1"}:
            pytest.fail(f"a test reaches for {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOY_KEY", KEY)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Give a server."""
    with model_server() as found:
        yield found
