"""Nothing that was accepted is ever lost: the service is killed again and again while files come in."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import pytest
from support_ingest import Service, categories, drawn, register, whole_submissions
from starlette.testclient import TestClient

from codec_superb.cli.uploading import Sent, send
from codec_superb.server.database.session import Database
from codec_superb.server.ingest.vault import clean
from codec_superb.server.settings import Settings

UPLOADS = 50
CODECS = 10
KILLS = 4
PROGRAM = """
import os, sys, uvicorn
from codec_superb.server.app import create_app
uvicorn.run(create_app(), fd=int(sys.argv[1]), log_level="error")
"""


class Server:
    """A real server on a socket that outlives it: clients wait while it is away, as behind a proxy."""

    def __init__(self, settings: Settings) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        prefix = "CODEC_SUPERB_SERVER_"
        self.environment = os.environ | {
            f"{prefix}DATABASE": settings.database_url,
            f"{prefix}STORAGE": str(settings.storage),
            f"{prefix}SECRET_KEY": "x" * 40,
            f"{prefix}UPLOADS_PER_HOUR": "1000000",
        }
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        descriptor = self.socket.fileno()
        program = [sys.executable, "-c", PROGRAM, str(descriptor)]
        return subprocess.Popen(program, pass_fds=[descriptor], env=self.environment, start_new_session=True)

    def kill(self) -> None:
        """End it as a power cut would; nothing of it can finish anything."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def kill_and_start(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.process = self._start()

    def close(self) -> None:
        """End it for good."""
        self.kill()
        self.socket.close()


@contextmanager
def killed_now_and_then(server: Server, seed: int) -> Iterator[None]:
    """Kill the server at random moments, a fixed number of times, while the block runs."""
    draw = random.Random(seed)
    over = threading.Event()

    def kill() -> None:
        for _ in range(KILLS):
            if over.wait(draw.uniform(0.1, 0.8)):
                return
            server.kill_and_start()
            with suppress(OSError):  # let it get as far as answering, or it would never store anything
                send_nothing(server.address)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def send_nothing(address: str) -> None:
    """Wait until the server answers anything at all."""
    import requests

    with suppress(requests.RequestException):
        requests.get(f"{address}/api/v1/submissions", timeout=20)


def test_fifty_uploads_under_fire(database_url: str, tmp_path: Path) -> None:
    """Each is whole or absent whenever the server dies, and each gets there in the end, once, by the real client."""
    settings = Settings(database=database_url, storage=tmp_path / "storage", secret_key="x" * 40)
    files = [tmp_path / f"{number}.zip" for number in range(UPLOADS)]
    for number, file in enumerate(files):
        file.write_bytes(drawn(f"fire_{number % CODECS}", seed=number))
    database = Database(database_url)
    register(database, "mini", categories())
    with TestClient(app=None) as _:  # pragma: no cover
        pass
    server = Server(settings)
    try:
        token = token_of(database, settings)

        def upload(file: Path) -> Sent:
            return send(file, server.address, token, attempts=30, first_pause=0.05)

        with killed_now_and_then(server, seed=UPLOADS), ThreadPoolExecutor(3) as pool:
            sent = list(pool.map(upload, files))
        server.kill()
        assert all(entry.accepted for entry in sent), [entry for entry in sent if not entry.accepted]
        stored = whole_submissions(database, settings)
        assert sorted(stored) == sorted(sha256(file.read_bytes()).hexdigest() for file in files)
        clean(settings, database, older_than=-1)
        left = {path.name for path in settings.files.iterdir()}
        assert left == {f"{digest}.zip" for digest in stored}
        assert list(settings.incoming.iterdir()) == []
    finally:
        server.close()
        database.close()
