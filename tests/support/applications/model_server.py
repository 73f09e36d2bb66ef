"""A model behind an address: a real HTTP server on this machine that answers as told, and keeps what it was asked."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml


@dataclass
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ModelServer:
    """What it answers, and what it was asked."""

    url: str = ""
    answer: Callable[[Asked], tuple[int, dict[str, str], bytes]] = lambda _: (500, {}, b"")
    between: Callable[[], None] | None = None
    """Called before each byte of an answer, which is then sent by itself."""
    asked: list[Asked] = field(default_factory=list)

    def configure(self, folder: Path, **settings: Any) -> str:
        """Write a configuration without waiting between tries; return its path."""
        file = folder / "model.yaml"
        file.write_text(yaml.safe_dump({"url": self.url, "model": "toy", "backoff_s": 0.0, "retries": 2} | settings))
        return str(file)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve on a port of the system's choice."""
    server = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body))
            server.asked.append(asked)
            status, headers, content = server.answer(asked)
            if not status:  # a reset: what is unsent is dropped, the other side gets no end of stream
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            self.send_response(status)
            # a length that is given is a lie: the answer is cut off
            for name, value in ({"Content-Length": str(len(content))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            if server.between is None:
                self.wfile.write(content)
            else:
                with suppress(OSError):  # nobody waits for it
                    for place in range(len(content)):
                        server.between()
                        self.wfile.write(content[place : place + 1])
            self.close_connection = "Content-Length" in headers

        def finish(self) -> None:
            """Close what is not closed yet."""
            with suppress(OSError, ValueError):
                super().finish()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


def ok(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """Answer with JSON."""
    return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()
