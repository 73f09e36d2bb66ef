"""Fetch exact package files, by name and SHA-256, from the indexes that pip is configured with.

A file is taken, in this order, from the folder of package files (where it may have been put by hand), from pip's
local ``find-links`` folders, and from the indexes. A download is written to ``<file>.part`` and renamed when its
SHA-256 is right; an interrupted download is resumed, a corrupt one is repeated. A :class:`WebFile` comes from its own
address, by pip's certificates, proxy and time limits too; it may be known by its MD5, or by no hash, and is then
resumed only where the server says that it is still the same file.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from codec_superb.data_manifests.errors import FetchError, WriteError
from codec_superb.data_manifests.files import file_md5, file_sha256, locked
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
            received(_size(path))
            return path

    def _local(self, file: PackageFile | WebFile) -> Path | None:
        for folder in (self.folder, *self.settings.find_links):
            path = folder / file.filename
            if path.is_file() and file.size in {0, path.stat().st_size} and not _difference(file, path):
                return path
        return None

    def _download(self, file: PackageFile | WebFile, received: Received) -> Path:
        target = self.folder / file.filename
        reasons = []
        if target.exists():
            reasons.append(f"the existing file has another {'MD5' if _md5(file) else 'SHA-256'}")
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
                raise WriteError(target, error) from error
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
                self._resume(client, source, part, file, received)
            difference = _difference(file, part)
            if not difference:
                return part
            part.unlink()
        raise FetchError(f"{client.name} serves it with {difference}")

    def _resume(
        self, client: IndexClient, url: str, part: Path, file: PackageFile | WebFile, received: Received
    ) -> None:
        failures, whole = 0, False
        while not whole and not (file.size and _size(part) >= file.size):
            have, error = _size(part), None
            try:
                whole = self._append(client, url, part, file, received)
            except FetchError as broken:
                error = broken
            now = _size(part)
            # A try that brought nothing ends it: urllib3 has retried the connection already.
            failures = failures + 1 if now > have else _RESUMPTIONS
            if not whole and now < (file.size or now + 1) and failures >= _RESUMPTIONS:
                raise error or FetchError(f"{client.name} sent {now} of {file.size or 'more'} bytes")
        _tag(part).unlink(missing_ok=True)

    def _append(
        self, client: IndexClient, url: str, part: Path, file: PackageFile | WebFile, received: Received
    ) -> bool:
        """Receive what is missing; return whether that is all, as far as the server or the file states its size."""
        validator = _known_validator(part, url)
        # without a hash, nothing else tells that the rest belongs to the same file
        have = _size(part) if validator or _has_hash(file) else 0
        # A server may ignore Range and send the whole (RFC 9110, section 14.2): then the file begins anew.
        with client.download(url, start=have, validator=validator) as answer:
            if file.size and answer.total not in {None, file.size}:
                raise FetchError(f"{client.name} serves {answer.total} bytes, expected {file.size}")
            _tag(part).write_text(f"{url}\n{answer.validator}", encoding="utf-8")
            done = answer.start
            with part.open("ab" if answer.start else "wb") as output:
                for chunk in answer.chunks(_CHUNK):
                    if self.stop.is_set():
                        raise FetchError("the download was stopped")
                    output.write(chunk)
                    done += len(chunk)
                    received(done)
        return done >= (answer.total or file.size)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _tag(part: Path) -> Path:
    """Return the file that says where a part comes from, and what its server calls that state of it."""
    return part.with_name(f"{part.name}.from")


def _known_validator(part: Path, url: str) -> str:
    try:
        address, _, validator = _tag(part).read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return ""
    return validator if address == url else ""


def _md5(file: PackageFile | WebFile) -> str:
    return file.md5 if isinstance(file, WebFile) and not file.sha256 else ""


def _has_hash(file: PackageFile | WebFile) -> bool:
    return bool(file.sha256 or _md5(file))


def _difference(file: PackageFile | WebFile, path: Path) -> str:
    """Return the hash that was found and the one that was expected; '' where they agree or none is known."""
    if not _has_hash(file):
        return ""
    name, wanted = ("MD5", _md5(file)) if _md5(file) else ("SHA-256", file.sha256)
    found = file_md5(path) if name == "MD5" else file_sha256(path)
    return "" if found == wanted else f"{name} {found}, expected {wanted}"
