"""Nothing that was accepted is ever lost: the service is killed again and again while files come in."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import func, select
from support.profile import amount
from support.server.ingest import categories, drawn, in_parts, register, token_of, whole_submissions

from codec_superb.cli.uploading import UploadResult, send
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import remove_orphans
from codec_superb.server.storage.vault_layout import MARK

UPLOADS = amount(20, 50)
CODECS = 10
KILLS = amount(2, 4)
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

    def start_again(self) -> None:
        """Start it after it was killed."""
        self.process = self._start()

    def close(self) -> None:
        """End it for good."""
        self.kill()
        self.socket.close()


@contextmanager
def killed_now_and_then(server: Server, count: Callable[[], int], look: Callable[[], int]) -> Iterator[list[int]]:
    """Kill the server at random moments after some uploads; give what ``look`` found each time it was dead.

    ``count`` counts the submissions of a server that lives.
    """
    draw = random.Random(UPLOADS)
    over = threading.Event()
    found: list[int] = []

    def kill() -> None:
        for _ in range(KILLS):
            enough = count() + draw.randint(3, 8)
            while count() < enough and not over.wait(0.03):
                pass
            over.wait(draw.uniform(0, 0.06))  # an upload takes about as long as that
            server.kill()
            found.append(look())
            server.start_again()

    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill)
        try:
            yield found
        finally:
            over.set()
        killing.result()  # raises what look() found wrong


def submissions(database: Database) -> int:
    """Count them."""
    with database.transaction() as session:
        return session.scalar(select(func.count()).select_from(Submission)) or 0


@pytest.mark.slow
def test_many_uploads_under_fire(database_url: str, tmp_path: Path) -> None:
    """Each is whole or absent whenever the server dies, and each gets there in the end, once, by the real client."""
    settings = Settings(database=database_url, storage=tmp_path / "storage", secret_key="x" * 40)
    files = [tmp_path / f"{number}.zip" for number in range(UPLOADS)]
    parts: dict[Path, dict[str, Path]] = {}
    for number, file in enumerate(files):
        name = f"fire_{number % CODECS}"
        if number % 4:
            file.write_bytes(drawn(name, seed=number))
        else:
            data, parts[file] = in_parts(tmp_path / f"parts {number}", name, seed=number)
            file.write_bytes(data)
    database = Database(database_url)
    register(database, "mini", categories())
    server = Server(settings)
    try:
        token = token_of(database, "ann")

        def upload(file: Path) -> UploadResult:
            return send(file, server.address, token, parts=parts.get(file), attempts=30, first_pause=0.05)

        whole = partial(whole_submissions, database, settings)
        count = partial(submissions, database)
        with killed_now_and_then(server, count, lambda: len(whole())) as at_death, ThreadPoolExecutor(3) as pool:
            sent = list(pool.map(upload, files))
        server.kill()
        assert len(at_death) == KILLS
        assert 0 < at_death[0] < at_death[-1] < UPLOADS, "expected deaths between uploads"
        assert all(entry.accepted for entry in sent), [entry for entry in sent if not entry.accepted]
        stored = whole()
        assert sorted(stored) == sorted(sha256(file.read_bytes()).hexdigest() for file in files)
        remove_orphans(settings, database, older_than=-1)
        kept = [*stored, *(part for its in parts.values() for part in its)]
        left = {path.name for path in settings.files.iterdir()}
        assert left == {f"{digest}{suffix}" for digest in kept for suffix in (".zip", MARK)}
        assert list(settings.incoming.iterdir()) == []
    finally:
        server.close()
        database.close()
