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
from typing import Any

import psycopg
from psycopg import sql
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
    settings = (
        "listen_addresses=", "shared_buffers=64MB", "max_connections=120", "logging_collector=off",
        "fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off",
    )  # fmt: skip
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


_SCHEMA = """
SELECT md5(string_agg(line, ',' ORDER BY line)) FROM (
    SELECT format('%s %s', oid, xmin) AS line FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT format('%s %s %s', attrelid, attnum, a.xmin)
        FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT format('%s %s', oid, xmin) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT format('%s %s', oid, xmin) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
) AS lines"""
"""Which rows of the catalogue make the schema, and the transactions that wrote them: the same in copies."""
_DISCONNECT = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class PostgresServer:
    """A running server; gives each test a database of its own, copied from one that the migrations made.

    A copy of some 300 files is 0.2 s of processor time. One whose schema is as it was is emptied and given again.
    """

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._wait()
        self._execute(f"CREATE DATABASE {_TEMPLATE}")
        upgrade(self.url(_TEMPLATE))
        self._idle: list[str] = []
        with self._connect(_TEMPLATE) as connection:
            self._schema = connection.execute(_SCHEMA).fetchone()
            self._emptying = _emptying(connection)

    def url(self, name: str) -> str:
        """SQLAlchemy URL of a database."""
        return f"postgresql+psycopg://tests@/{name}?host={self.socket}"

    @contextmanager
    def database(self, *, migrated: bool = True, dropped: bool = False) -> Iterator[str]:
        """Give a database without a table, which is dropped afterwards, or one with the schema and no rows but its own.

        That one is emptied afterwards, or dropped where that is asked for.
        """
        if migrated and self._idle:
            name = self._idle.pop()
        else:
            name = f"test_{next(_NUMBERS)}"
            self._execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {_TEMPLATE}" if migrated else ""))
        try:
            yield self.url(name)
        finally:
            if migrated and not dropped and self._empty(name):
                self._idle.append(name)
            else:
                self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _empty(self, name: str) -> bool:
        """Put a database back into the state of the template; False where its schema is another now."""
        with self._connect(name) as connection:
            connection.execute(_DISCONNECT)
            if connection.execute(_SCHEMA).fetchone() != self._schema:
                return False
            connection.execute(self._emptying)
            return True

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
        with self._connect("postgres") as connection:
            connection.execute(statement.encode())

    def _connect(self, database: str) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(f"host={self.socket} user=tests dbname={database}", autocommit=True)


def _emptying(connection: psycopg.Connection[tuple[Any, ...]]) -> bytes:
    """Write the statements that delete all rows but those of the migrations, and let sequences begin anew."""
    tables = [name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    sequences = [name for (name,) in connection.execute("SELECT sequencename FROM pg_sequences")]
    # A replica checks no references and runs no triggers, so that tables may come in any order.
    statements: list[sql.Composable] = [sql.SQL("SET session_replication_role = replica")]
    for table in map(sql.Identifier, tables):
        statements.append(sql.SQL("DELETE FROM {}").format(table))
        (rows,) = connection.execute(sql.SQL("SELECT json_agg(t)::text FROM {} t").format(table)).fetchone() or (None,)
        if rows is not None:
            put = sql.SQL("INSERT INTO {} SELECT * FROM json_populate_recordset(NULL::{}, {})")
            statements.append(put.format(table, table, sql.Literal(rows)))
    for name in sequences:
        at = connection.execute(sql.SQL("SELECT last_value, is_called FROM {}").format(sql.Identifier(name))).fetchone()
        statements.append(sql.SQL("SELECT setval({}, {}, {})").format(sql.Literal(name), *map(sql.Literal, at or ())))
    return sql.SQL("; ").join(statements).as_bytes(connection)
