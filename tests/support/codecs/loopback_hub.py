"""A hub on this machine that answers as a test says, and the variables that lead a program to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Answer = tuple[int, str]
"""Status, and the hub's ``X-Error-Code`` or ''."""


@contextmanager
def hub(answer: Callable[[str], Answer]) -> Iterator[str]:
    """Serve a hub whose answer to each path is that of ``answer``; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            status, code = answer(self.path)
            self.send_response(status)
            if code:
                self.send_header("X-Error-Code", code)
                self.send_header("X-Error-Message", "as the test says")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def variables(address: str, home: Path, **others: str) -> dict[str, str]:
    """Return the environment of a program that knows this hub alone, with empty caches in ``home``."""
    own = {"HF_ENDPOINT": address, "HF_HOME": str(home / "hf"), "CODEC_SUPERB_HOME": str(home), "TORCH_HOME": str(home)}
    dropped = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HF_HUB_CACHE", "CODEC_SUPERB_WEIGHTS")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, **own, "NO_PROXY": "127.0.0.1", **others}
