"""``codec-superb serve`` as a process: it starts with nothing, says what is wrong in a sentence, and ends well."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
import uvicorn
from sqlalchemy import make_url, text
from starlette.types import Receive, Scope, Send
from support.server.ingest import UPLOADS, categories, drawn, register, whole_submissions
from support.server.postgres import PostgresServer
from support.server.serving import PROGRAM, WITHOUT_HEAVY, Served, served
from support.timing import PATIENCE_S, wait_for

from codec_superb.server.database.session import Database
from codec_superb.server.errors import OperationError
from codec_superb.server.http import slow_clients
from codec_superb.server.ingest.sandbox import offered
from codec_superb.server.operations.preparation import check_url, prepare, usable
from codec_superb.server.people.tokens import account_of
from codec_superb.server.serving import serve
from codec_superb.server.settings import Settings


@contextmanager
def _upload(service: Served, data: bytes, sent: int) -> Iterator[socket.socket]:
    """Begin to upload a submission and have sent its first bytes."""
    with socket.create_connection(service.address, timeout=PATIENCE_S) as connection:
        lines = (
            f"POST {UPLOADS} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(data)}",
            "Content-Type: application/zip", "Expect: 100-continue", "", "",
        )  # fmt: skip
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue")  # the application has begun to read
        connection.sendall(data[:sent])
        yield connection


def _refuses(service: Served) -> bool:
    """Whether it takes no more connections; it looks for its end ten times a second."""
    try:
        service.get("/healthz")
    except httpx2.ConnectError:
        return True
    except httpx2.TransportError:  # a worker that ends takes a connection with it
        return False
    return False


def _takes(connection: socket.socket, data: bytes) -> bool:
    try:
        connection.sendall(data)
    except ConnectionError:
        return False
    return True


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give an empty home."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def service(home: Path) -> Iterator[Served]:
    """Serve with that home, without a setting and without packages that compute."""
    with served(before=WITHOUT_HEAVY, environment={"CODEC_SUPERB_HOME": str(home)}) as running:
        yield running


class TestStart:
    """Nothing is configured, and it runs."""

    @pytest.mark.sample(1, among="services of their own")
    def test_runs_without_configuration_and_without_packages_that_compute(self, service: Served, home: Path) -> None:
        """With an empty home and no torch, numba, transformers or librosa the service becomes ready and answers."""
        assert service.get("/healthz").json() == {"status": "alive"}
        assert service.get("/readyz").json() == {"status": "ready"}
        front = service.get("/", accept="text/html")
        assert front.status_code == 200
        assert "text/html" in front.headers["content-type"]
        assert "server" not in front.headers
        assert str(home / "server" / "leaderboard.sqlite") in service.said[1]
        assert service.said[2] == "0 submissions; 19 + 34 + 9 codecs of published tables; datasets: mini\n"
        storage = home / "server"
        made = [storage, storage / "leaderboard.sqlite", storage / "secret_key", storage / "submissions"]
        assert [oct(path.stat().st_mode & 0o777) for path in made] == ["0o700", "0o600", "0o600", "0o700"]
        assert f'"confined_by": "{offered()}"' in service.log.read_text()

    def test_a_head_without_end_is_refused(self, service: Served) -> None:
        """A header of a megabyte is not kept in memory to see how it ends."""
        with socket.create_connection(service.address, timeout=PATIENCE_S) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
            with suppress(ConnectionError):
                for _ in range(16):
                    connection.sendall(b"a" * 65_536)
                assert connection.recv(100).startswith(b"HTTP/1.1 431")
        assert service.get("/healthz").status_code == 200

    @pytest.mark.parametrize("end", ["", "Connection: close\r\n\r\n"])
    def test_a_head_of_many_headers_is_refused_in_words(self, service: Served, end: str) -> None:
        """Whether it is whole or not; 15,000 empty ones took 60 ms of the event loop."""
        with socket.create_connection(service.address, timeout=PATIENCE_S) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 200 + end.encode())
            with connection.makefile("rb") as stream:
                told = stream.read()
        assert told.startswith(b"HTTP/1.1 431 Request Header Fields Too Large")
        assert b"send fewer or shorter ones" in told

    def test_a_head_that_does_not_end_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who says nothing or trickles is cut off; requests are answered, one after another, slow ones too."""
        monkeypatch.setattr(slow_clients, "HEAD_SECONDS", 1.5)  # from a connection to its first request, below

        async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
            await anyio.sleep(1.6)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})

        server = uvicorn.Server(
            uvicorn.Config(answer, http=slow_clients.TimedProtocol, lifespan="off", log_config=None, ws="none")
        )
        with ExitStack() as stack:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            stack.callback(thread.join)
            stack.callback(setattr, server, "should_exit", True)
            silent, trickling, good = (
                stack.enter_context(socket.create_connection(listening.getsockname(), PATIENCE_S)) for _ in range(3)
            )
            for _ in range(2):
                good.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                told = b""
                while not told.endswith(b"ok"):  # head and body may come apart
                    told += good.recv(1000)
                assert b"200 OK" in told
            assert silent.recv(1) == b""
            wait_for(lambda: not _takes(trickling, b"G"), "expected a head that trickles to be cut off")

    @pytest.mark.slow
    def test_several_processes_on_postgresql_count_together(self, postgres: PostgresServer, tmp_path: Path) -> None:
        """Two workers upgrade an empty database once, both answer, and either reports the requests of both."""
        environment = {"CODEC_SUPERB_SERVER_INTERNAL_METRICS": "true"}
        with postgres.database(migrated=False) as url:
            options = ("--database", url, "--storage", str(tmp_path), "--workers", "2")
            with served(*options, environment=environment) as service:
                for _ in range(29):  # and once when it was started
                    assert service.get("/healthz").status_code == 200
                text = service.get("/metrics-internal").text
                assert 'codec_superb_requests_total{method="GET",route="/healthz",status="200"} 30.0' in text
                service.process.send_signal(signal.SIGTERM)
                assert service.process.wait(PATIENCE_S) == 0

    @pytest.mark.slow
    def test_workers_end_with_their_parent(self, tmp_path: Path) -> None:
        """When the parent is killed, its workers do not live on with the port: a new service can take it at once."""
        with served("--storage", str(tmp_path), "--workers", "2") as service:
            service.process.kill()
            wait_for(lambda: _refuses(service), "expected the workers to end with their parent")
            with served("--storage", str(tmp_path), "--port", str(service.address[1])) as again:
                assert again.address == service.address


class TestRefusals:
    """What stops it is said in one sentence, with exit code 2."""

    def _message(self, *arguments: str, before: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-c", before + PROGRAM, "serve", *arguments],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        return done.stderr.strip().splitlines()[-1]

    @pytest.mark.sample(1, among="services refuse")
    def test_a_port_in_use(self, tmp_path: Path, migrated_sqlite: Path) -> None:
        """The address is named, and the option that changes it."""
        shutil.copy(migrated_sqlite, tmp_path / "leaderboard.sqlite")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            message = self._message("--port", str(port), "--storage", str(tmp_path))
        assert message == (
            f"codec-superb: cannot listen on http://127.0.0.1:{port}: Address already in use; "
            "choose another --port or --host"
        )

    @pytest.mark.sample(1, among="services refuse")
    def test_a_missing_extra(self, tmp_path: Path) -> None:
        """Without FastAPI the command names the exact way to install it."""
        before = WITHOUT_HEAVY.replace('"torch"', '"fastapi"')
        message = self._message("--storage", str(tmp_path), before=before)
        assert message.endswith("needs fastapi, which is not installed: pip install 'codec-superb[server]'")

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("mysql://me:secret@host/db", "got mysql://me:***@host/db"),
            ("postgresql://me:secret@host/db", "the driver is part of it: postgresql+psycopg://"),
            ("sqlite://", "expected a database that lasts"),
            ("me:secret@host", "got something else"),
        ],
    )
    def test_a_url_it_cannot_use(self, url: str, words: str) -> None:
        """The form of a URL that works is named, and no password is repeated."""
        with pytest.raises(OperationError) as caught:
            check_url(url)
        assert words in str(caught.value)
        assert "secret" not in str(caught.value)

    def test_a_database_that_is_away(self, tmp_path: Path) -> None:
        """The database's own words come in one line."""
        url = "postgresql+psycopg://me:secret@127.0.0.1:1/db"
        with pytest.raises(OperationError, match=r"cannot use the database postgresql.*refused") as caught:
            prepare(Settings(database=url, storage=tmp_path))
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_user_without_rights(self, postgres: PostgresServer, tmp_path: Path) -> None:
        """What to grant comes with the database's own words, whether it may read nothing or change nothing."""
        with postgres.database(dropped=True) as url, closing(Database(url)) as mighty:
            settings = Settings(database=make_url(url).set(username="weak").render_as_string(), storage=tmp_path)
            with mighty.transaction(write=True) as session:
                session.execute(text("CREATE ROLE weak LOGIN"))
            try:
                with pytest.raises(OperationError, match=r"permission denied.*ALTER DATABASE .* OWNER TO weak"):
                    prepare(settings)
                with mighty.transaction(write=True) as session:
                    session.execute(text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO weak"))
                prepare(settings)
                with (
                    closing(Database(settings.database_url)) as weak,
                    pytest.raises(OperationError, match="permission denied for table accounts; as its administrator"),
                    usable(settings), weak.transaction(write=True) as session,
                ):  # fmt: skip
                    account_of(session, "ann")
            finally:
                with mighty.transaction(write=True) as session:
                    session.execute(text("DROP OWNED BY weak"))
                    session.execute(text("DROP ROLE weak"))

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        """A file of something else is not overwritten."""
        (tmp_path / "leaderboard.sqlite").write_bytes(b"something else" * 100)
        with pytest.raises(OperationError, match="file is not a database"):
            prepare(Settings(storage=tmp_path))
        assert (tmp_path / "leaderboard.sqlite").read_bytes().startswith(b"something else")

    def test_a_newer_schema(self, tmp_path: Path) -> None:
        """A database that a newer program made is left alone."""
        settings = Settings(storage=tmp_path)
        prepare(settings)
        with closing(sqlite3.connect(tmp_path / "leaderboard.sqlite")) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(OperationError, match="expected a database schema that this program knows"):
            prepare(settings)

    def test_a_storage_that_cannot_be_written(self, tmp_path: Path) -> None:
        """A file in the place of the folder is named."""
        (tmp_path / "file").touch()
        with pytest.raises(OperationError, match=r"cannot write the storage folder .*file/storage: Not a directory"):
            prepare(Settings(storage=tmp_path / "file" / "storage"))
        (tmp_path / "files.lock").mkdir()
        with pytest.raises(OperationError, match=r"cannot write the storage file .*files.lock: Is a directory"):
            prepare(Settings(storage=tmp_path))

    def test_an_address_of_another_machine(self, tmp_path: Path) -> None:
        """A host that is not this machine's is refused before anything is made."""
        with pytest.raises(OperationError, match=r"cannot listen on http://192\.0\.2\.1:8000"):
            serve(Settings(storage=tmp_path / "storage"), host="192.0.2.1")
        assert not (tmp_path / "storage").exists()


class TestShutdown:
    """SIGTERM: nothing new, everything running to its end, within a bound."""

    @pytest.mark.sample(1, among="services of their own")
    def test_a_running_upload_ends_and_nothing_new_begins(self, tmp_path: Path) -> None:
        """An upload in flight is stored and answered after SIGTERM, new connections are refused, the exit code is 0."""
        settings, data = Settings(storage=tmp_path), drawn("slow_16k")
        start = served("--storage", str(tmp_path), "--anonymous-uploads")
        with start as service, closing(Database(settings.database_url)) as database:
            register(database, "mini", categories())
            with _upload(service, data, sent=2000) as upload:
                service.process.send_signal(signal.SIGTERM)
                wait_for(lambda: _refuses(service), "expected no new connection after SIGTERM")
                upload.sendall(data[2000:])
                answer = b"".join(iter(lambda: upload.recv(4096), b""))
            assert b"201 Created" in answer
            assert b'"status":"pending"' in answer
            assert service.process.wait(PATIENCE_S) == 0
            assert whole_submissions(database, settings) == [hashlib.sha256(data).hexdigest()]

    @pytest.mark.slow
    def test_the_bound_holds(self, tmp_path: Path) -> None:
        """An upload that never ends is broken off after shutdown_seconds, logged as such, and leaves nothing behind."""
        environment = {"CODEC_SUPERB_SERVER_SHUTDOWN_SECONDS": "1"}
        start = served("--storage", str(tmp_path), "--anonymous-uploads", environment=environment)
        with start as service, _upload(service, bytes(9000), sent=40):
            began = time.monotonic()
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(PATIENCE_S) == 0
            assert 0.9 < time.monotonic() - began < 30  # by default, and 40 to the end of a process that hangs
            lines = [json.loads(line) for line in service.log.read_text().splitlines()]
        assert any("graceful shutdown exceeded" in line["event"] for line in lines)
        assert [line["status"] for line in lines if line.get("route") == UPLOADS] == [499]
        assert [path.name for path in Settings(storage=tmp_path).incoming.iterdir()] == []
