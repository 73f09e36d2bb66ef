"""A real S3 server on loopback (moto), and between it and the program a proxy that counts requests and makes faults."""

from __future__ import annotations

import fcntl
import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

_FOLDER = Path(sys.prefix) / "s3-server"
_SERVE = """
import sys
sys.path[:0] = [sys.argv[1]]
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
SECRET = "a-secret-of-the-tests"


class Request(NamedTuple):
    """A request that came."""

    method: str
    path: str
    range: str
    sent: int
    """Bytes of the answer."""


@dataclass
class Fault:
    """What happens to requests whose path has ``part`` in it, ``times`` times."""

    kind: str
    """``403``, ``503``, ``slow`` (the answer stops for ``seconds``), ``cut`` (half of the answer, then the end),
    ``short`` (half of the answer, and a header that says so), ``gone`` (no answer)."""
    part: str = ""
    times: int = 1 << 30
    seconds: float = 0.0


@dataclass
class S3:
    """The server behind its proxy, and one bucket in it."""

    port: int
    proxy: int
    bucket: str = ""
    requests: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Of the bucket."""
        return f"s3://{self.bucket}"

    def environment(self) -> dict[str, str]:
        """Return what the program reads of credentials and endpoint."""
        return {
            "AWS_ACCESS_KEY_ID": "AKIATESTS", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.proxy}",
        }  # fmt: skip

    def put(self, key: str, content: bytes = b"") -> None:
        """Store an object, past the proxy; '' makes the bucket."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        who = "AKIATESTS/20260101/us-east-1/s3/aws4_request"
        signed = f"AWS4-HMAC-SHA256 Credential={who}, SignedHeaders=host, Signature=0"
        connection.request("PUT", quote(f"/{self.bucket}/{key}".rstrip("/")), content, {"Authorization": signed})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == http.client.OK, answer.status
        connection.close()

    def put_folder(self, folder: Path, prefix: str) -> None:
        """Store all files below a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def fault_of(self, path: str) -> Fault | None:
        """Return the fault that befalls a request, and count it."""
        for fault in self.faults:
            if fault.part in path and fault.times > 0:
                fault.times -= 1
                return fault
        return None


@contextmanager
def s3_server() -> Iterator[S3]:
    """Run the server and its proxy; tests set bucket, faults and requests anew."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _SERVE, str(_installed())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        there = S3(int(process.stdout.readline()), 0)
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), type("Proxy", (_Proxy,), {"there": there}))
        proxy.daemon_threads = True
        there.proxy = proxy.server_address[1]
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield there
        proxy.shutdown()
        proxy.server_close()
        process.kill()


def _installed() -> Path:
    """Return the folder of the server's packages, which are installed once into an environment."""
    with Path(f"{_FOLDER}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (_FOLDER / ".installed").exists():
            wanted = Path(__file__).with_name("s3_server.txt")
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
            subprocess.run([*pip, "--target", _FOLDER, "-r", wanted], check=True, env={**os.environ, "PYTHONPATH": ""})
            (_FOLDER / ".installed").touch()
    return _FOLDER


class _Proxy(BaseHTTPRequestHandler):
    """Passes requests on, and makes the faults that are asked for."""

    there: S3
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        """Read one request and answer it, whatever its method."""
        self.raw_requestline = self.rfile.readline(1 << 16)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.there.fault_of(self.path)
        if fault and fault.kind in {"403", "503", "gone"}:
            self._note(0)
            self.close_connection = True
            if fault.kind != "gone":
                self._refuse(fault)
            return
        upstream = http.client.HTTPConnection("127.0.0.1", self.there.port)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        self._note(len(content))
        self._answer(answer, content, fault)

    def _refuse(self, fault: Fault) -> None:
        code = {"403": "AccessDenied", "503": "SlowDown"}[fault.kind]
        content = f"<Error><Code>{code}</Code><AWSAccessKeyId>AKIATESTS</AWSAccessKeyId></Error>".encode()
        self.send_response(int(fault.kind))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content if self.command != "HEAD" else b"")

    def _note(self, sent: int) -> None:
        self.there.requests.append(Request(self.command, self.path, self.headers.get("Range", ""), sent))

    def _answer(self, answer: http.client.HTTPResponse, content: bytes, fault: Fault | None) -> None:
        half = content[: len(content) // 2]
        length = len(half) if fault and fault.kind == "short" else len(content)
        stated = answer.getheader("Content-Length") if self.command == "HEAD" else str(length)
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"content-length", "transfer-encoding", "connection", "server", "date"}:
                self.send_header(name, value)
        self.send_header("Content-Length", stated or "0")
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(half)
        if fault and fault.kind in {"cut", "short"}:
            self.close_connection = True
            return
        if fault:
            self.wfile.flush()
            time.sleep(fault.seconds)
        with suppress(ConnectionError):  # the program was killed meanwhile
            self.wfile.write(content[len(half) :])

    def log_message(self, *_: object) -> None:
        """Say nothing."""
