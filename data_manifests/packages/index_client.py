"""Client of one package index (the simple API of PEP 503 and PEP 691): find a file and download it.

An index is an address on the network, or a local folder (``file:``). A file that a web server has by its name needs no
index: a client of the server's folder finds it there.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import pypi_simple
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.manifest import PackageFile
from codec_superb.data_manifests.packages.pip_settings import PipSettings, local_path

Chunks = Callable[[int], Iterator[bytes]]

# RFC 9110, sections 15.3.7 and 15.5.17
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416
_CONNECTIONS = 2
"""Retries of a connection; few, so that a missing network is reported soon."""
_CONNECT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class WebFile:
    """One file of a web server, pinned: its address is ``folder`` and ``filename``."""

    folder: str
    """Address of the folder, without a slash at its end."""
    filename: str
    sha256: str = ""
    """'' where only the MD5 is known, or no hash at all: then the first file that comes whole is taken."""
    size: int = 0
    """Bytes; 0 where nobody states them."""
    urls: tuple[str, ...] = ()
    """Whole addresses to ask in turn, where the file has several or they do not end in its name on this machine."""
    md5: str = ""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses to ask in turn."""
        return self.urls or (f"{self.folder}/{self.filename}",)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sends of a file."""

    start: int
    """Offset of the first byte."""
    total: int | None
    """Bytes of the whole file; None where the server does not say."""
    validator: str
    """What tells this state of the file from any other: a strong ETag or the time of its last change; or ''."""
    chunks: Chunks


class IndexClient:
    """A client of one index; use it as a context manager."""

    def __init__(self, address: str | None, settings: PipSettings) -> None:
        self._address = address or pypi_simple.PYPI_SIMPLE_ENDPOINT
        self._folder = local_path(self._address)
        self._session = _session(settings)
        self.name = _without_password(self._address)
        """The address, without a password, for messages."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def find(self, file: PackageFile | WebFile) -> str | Path:
        """Return the address of the file, or its path in a local index. Raises FetchError when it is not there."""
        if isinstance(file, WebFile):
            return file.addresses[0]
        for package in self._page(file.project).packages:
            if package.filename == file.filename:
                return local_path(package.url) or package.url
        raise FetchError(f"{self.name} has {file.project}, but not this file")

    @contextlib.contextmanager
    def download(self, url: str, *, start: int, validator: str = "") -> Iterator[Answer]:
        """Yield what the server sends from ``start`` on, or from 0 when it ignores the range.

        With a ``validator`` a file that has changed since is sent from 0 (RFC 9110, section 13.1.5). Raises FetchError
        for any failure of the network.
        """
        # identity: bytes of a range must be those of the file, not of a compressed transfer (RFC 9110, section 14).
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        if start and validator:
            headers["If-Range"] = validator
        try:
            response = self._session.get(url, headers=headers, stream=True)
            if start and response.status_code == _RANGE_NOT_SATISFIABLE:  # the file is shorter now
                response.close()
                response = self._session.get(url, headers={"Accept-Encoding": "identity"}, stream=True)
            response.raise_for_status()
        except OSError as error:
            if isinstance(error, requests.HTTPError):
                error.response.close()  # its body was not read: the session does not know that it is done with
            raise FetchError(f"{_without_password(url)}: {_reason(error)}") from error
        with response:
            begins = start if response.status_code == _PARTIAL_CONTENT else 0
            try:
                yield Answer(begins, _total(response, begins), _validator(response), response.iter_content)
            except requests.RequestException as error:
                raise FetchError(f"{_without_password(url)}: the connection broke off") from error

    def size(self, url: str) -> int | None:
        """Return the size in bytes that the server states for a file; None where it does not answer or say."""
        try:
            with self._session.head(url, headers={"Accept-Encoding": "identity"}, allow_redirects=True) as response:
                return _total(response, 0) if response.ok else None
        except OSError:
            return None

    def _page(self, project: str) -> pypi_simple.ProjectPage:
        if self._folder is not None:
            # PEP 503: normalised names of projects.
            return self._folder_page(self._folder / re.sub(r"[-_.]+", "-", project).lower(), project)
        try:
            return pypi_simple.PyPISimple(self._address, session=self._session).get_project_page(project)
        except pypi_simple.NoSuchProjectError as error:
            raise FetchError(f"{self.name} does not have it") from error
        except OSError as error:
            raise FetchError(f"{self.name} cannot be reached: {_reason(error)}") from error
        except pypi_simple.UnsupportedContentTypeError as error:
            raise FetchError(f"{self.name} is no package index: {error}") from error

    def _folder_page(self, folder: Path, project: str) -> pypi_simple.ProjectPage:
        page = folder / "index.html"
        try:
            html = page.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FetchError(f"{self.name} does not have it") from error
        return pypi_simple.ProjectPage.from_html(project, html, base_url=page.as_uri())


class _PipAdapter(HTTPAdapter):
    """Applies pip's time limit and certificates to every request of a session.

    In ``requests``, environment variables (``REQUESTS_CA_BUNDLE``) override the session's settings; pip's setting is
    the more specific one and must win.
    """

    def __init__(self, settings: PipSettings) -> None:
        self._settings = settings
        retries = Retry(
            total=settings.retries,
            connect=min(settings.retries, _CONNECTIONS),
            # A body that breaks off is resumed by the fetcher, from where it broke off.
            read=0,
            other=0,
            backoff_factor=0.25,
            # pip's own list: transient answers of S3 and of Cloudflare.
            status_forcelist=[500, 502, 503, 520, 524, 527],
        )
        super().__init__(max_retries=retries)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        host = urlsplit(request.url or "")
        trusted = {str(host.hostname), f"{host.hostname}:{host.port}"} & set(self._settings.trusted_hosts)
        verify = False if trusted else self._settings.cert or verify
        limits = (min(self._settings.timeout, _CONNECT_SECONDS), self._settings.timeout)
        return super().send(request, stream, timeout or limits, verify, cert, proxies)


def _session(settings: PipSettings) -> requests.Session:
    session = requests.Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, _PipAdapter(settings))
    session.cert = settings.client_cert
    if settings.proxy:
        session.proxies = {"http": settings.proxy, "https": settings.proxy}
    return session


def _total(response: requests.Response, start: int) -> int | None:
    if "Content-Encoding" in response.headers:  # sent compressed in spite of everything: the length is not the file's
        return None
    length = response.headers.get("Content-Length", "")
    return start + int(length) if length.isdecimal() else None


def _validator(response: requests.Response) -> str:
    etag = response.headers.get("ETag", "")
    # RFC 9110, section 13.1.5: a weak ETag cannot tell whether the bytes are the same
    return response.headers.get("Last-Modified", "") if not etag or etag.startswith("W/") else etag


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    # RFC 3986, section 3.2.1: user and password stand before the @.
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _reason(error: OSError) -> str:
    """Return the reason in a few words; the library's own text repeats the address and its internals."""
    if isinstance(error, requests.HTTPError):
        return f"the server answered {error.response.status_code}"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted; set pip's `cert` to the right file"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy does not answer"
    return "no connection" if isinstance(error, requests.ConnectionError) else str(error)
