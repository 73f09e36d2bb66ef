"""Fixtures of tests that need a store: ``s3``."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.objects.s3 import S3, s3_server


@pytest.fixture(scope="session")
def s3_of_process() -> Iterator[S3]:
    """Run one server for the tests of a process."""
    with s3_server() as there:
        yield there


@pytest.fixture
def s3(s3_of_process: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> S3:
    """Return the server with an empty bucket and no faults; the program finds credentials and a home of its own."""
    s3_of_process.bucket = f"test-{secrets.token_hex(4)}"
    s3_of_process.faults.clear()
    s3_of_process.put("")
    s3_of_process.requests.clear()
    for name, value in s3_of_process.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return s3_of_process
