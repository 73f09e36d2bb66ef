"""A real PostgreSQL server for the tests: started once per test process, on a socket of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
from support.timing import PATIENCE_S

from codec_superb.server.database.migrate import upgrade

_NUMBERS = count()
_TEMPLATE = "migrated"


def _programs() -> Path:
    """Folder of initdb and postgres: the newest of Debian's, or wherever they are on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if found:
        return found[-1]
    on_path = shutil.which("initdb")
    if on_path is None:
        raise RuntimeError("the tests need PostgreSQL: make postgres, or apt install postgresql")
    return Path(on_path).parent


def _user() -> str | None:
    """PostgreSQL refuses to run as root: then it runs as the user of Debian's package."""
    return None if os.geteuid() else "postgres"


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run a server until the block ends; durability is off, because nothing outlives the tests."""
    # Short, because the path of a Unix socket may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"
    run = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    programs = _programs()
    subprocess.run(
        [programs / "initdb", "-D", data, "-A", "trust", "-U", "tests", "-E", "UTF8", "--no-sync"],
        check=True, capture_output=True, cwd="/tmp", **run,
    )  # fmt: skip
    settings = ("listen_addresses=", "fsync=off", "shared_buffers=64MB", "max_connections=60", "logging_collector=off")
    server = subprocess.Popen(
        [programs / "postgres", "-D", data, "-k", folder, *(part for value in settings for part in ("-c", value))],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/tmp", **run,
    )  # fmt: skip
    try:
        yield PostgresServer(folder)
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
        shutil.rmtree(folder, ignore_errors=True)


class PostgresServer:
    """A running server; gives each test a database of its own, copied from one that the migrations made."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._wait()
        self._execute(f"CREATE DATABASE {_TEMPLATE}")
        upgrade(self.url(_TEMPLATE))

    def url(self, name: str) -> str:
        """SQLAlchemy URL of a database."""
        return f"postgresql+psycopg://tests@/{name}?host={self.socket}"

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[str]:
        """Make a database, empty or with the schema, and drop it afterwards."""
        name = f"test_{next(_NUMBERS)}"
        self._execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {_TEMPLATE}" if migrated else ""))
        try:
            yield self.url(name)
        finally:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _wait(self) -> None:
        """Wait until the server answers; it says when it cannot start."""
        for attempt in range(100):
            try:
                self._execute("SELECT 1")
            except psycopg.OperationalError:
                if attempt == 99:
                    raise
                subprocess.run(["sleep", "0.1"], check=True)
            else:
                return

    def _execute(self, statement: str) -> None:
        with psycopg.connect(f"host={self.socket} user=tests dbname=postgres", autocommit=True) as connection:
            connection.execute(statement.encode())
