"""Uploads that take their time, and what the process that checks them is given."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import anyio
import pytest
from fastapi import Request
from starlette.types import Message
from support.coroutines import run
from support.server.ingest import ZIP, running
from support.timing import PATIENCE_S

from codec_superb.server.errors import BadRequest
from codec_superb.server.ingest import receive
from codec_superb.server.settings import Settings


def trickling(pieces: Iterator[bytes], pause: float) -> Request:
    """Make a request whose body comes in pieces with pauses between them."""

    async def give() -> Message:
        await anyio.sleep(pause)
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    headers = [(name.encode(), value.encode()) for name, value in ZIP.items()]
    return Request({"type": "http", "headers": headers}, give)


class TestSlow:
    """Places are few: nobody keeps one with a byte now and then."""

    @pytest.mark.parametrize("quick", [0, 100])
    def test_a_trickle_is_given_up(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quick: int) -> None:
        """However much came at once before, the next part must come in its time; the answer says what was expected."""
        monkeypatch.setattr(receive, "PART", 1000)
        monkeypatch.setattr(receive, "WINDOW", 0.2)
        settings = Settings(storage=tmp_path)
        settings.incoming.mkdir(parents=True)

        async def send(pieces: Iterator[bytes]) -> int:
            async with receive.receive(trickling(pieces, 0.05), settings) as upload:
                return upload.size

        with pytest.raises(BadRequest, match=r"expected 1 kB within each 0\.2 s"):
            run(send, chain([bytes(1000 * quick)], repeat(b"a", 100)))
        assert list(settings.incoming.iterdir()) == []
        monkeypatch.setattr(receive, "WINDOW", 1.0)  # the next part takes a tenth of it, the whole file 1.25 s
        assert run(send, repeat(bytes(800), 25)) == 20_000
        monkeypatch.setattr(receive, "WINDOW", PATIENCE_S)
        monkeypatch.setattr(receive, "LONGEST", 0.3)
        with pytest.raises(BadRequest, match="the whole file within"):
            run(send, repeat(bytes(800), 10))


class TestEnvironment:
    """What a process that reads files of strangers could tell."""

    def test_it_does_not_have_the_service_s_secrets(
        self, monkeypatch: pytest.MonkeyPatch, settings: Settings, fresh_checks: None
    ) -> None:
        """Neither the database's password nor the key that signs cookies is in its environment."""
        monkeypatch.setenv("CODEC_SUPERB_SERVER_SECRET_KEY", "do not tell" * 5)
        with running(settings) as service:
            pid = service.client.app.state.checker.pid  # type: ignore[attr-defined]  # an application of ours
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        assert b"PATH=" in environment
        assert b"CODEC_SUPERB_SERVER" not in environment
