"""Receives an upload: streams it into ``incoming``, hashes it, enforces size and speed limits, and fsyncs it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import anyio
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.requests import ClientDisconnect

from codec_superb.server.errors import BadRequest, TooLarge, Unavailable
from codec_superb.server.ingest.form import FormReader
from codec_superb.server.settings import MEGABYTE, Settings
from codec_superb.server.storage.room import has_room
from codec_superb.server.storage.submission_files import hold_off_cleaning

RAW = ("application/zip", "application/octet-stream", "application/x-zip-compressed")
FORM = "multipart/form-data"
PART, WINDOW = 200_000, 20.0
"""Bytes that must come within so many seconds of waiting for them, again and again, to the end of the upload: a mean
since its beginning would let a sender that began fast keep its place for hours."""
LONGEST = 1800.0
"""Seconds that an upload may take in all."""
_BUFFER = 1 << 20
_FORM_MARGIN = 100_000
"""Bytes that a form may have besides its file."""


class Received(Protocol):
    """A file that has been received: an upload of this process, or one that waited in the queue."""

    @property
    def path(self) -> Path:
        """Where it lies."""

    @property
    def file(self) -> BinaryIO:
        """The same, open."""

    @property
    def sha256(self) -> str:
        """Of its bytes."""

    @property
    def size(self) -> int:
        """Bytes."""


class Upload:
    """A file on its way in."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.size = 0
        self._limit = limit
        self._left = False
        self._hash = hashlib.sha256()
        self._pending = bytearray()
        self.file: BinaryIO = path.open("x+b")
        # until it is closed, by this process or its end: an unlocked file is a left-over
        fcntl.flock(self.file, fcntl.LOCK_EX)

    @property
    def sha256(self) -> str:
        """Of everything that has been stored."""
        return self._hash.hexdigest()

    def take(self, data: bytes) -> None:
        """Keep a piece until :meth:`store` is called. Raises TooLarge beyond the limit."""
        self.size += len(data)
        if self.size > self._limit:
            raise too_large(self._limit)
        self._pending += data

    @property
    def due(self) -> bool:
        """Whether enough is pending for a write."""
        return len(self._pending) >= _BUFFER

    def store(self) -> None:
        """Hash and write what is pending."""
        self._hash.update(self._pending)
        self.file.write(self._pending)
        self._pending.clear()

    def finish(self) -> None:
        """Write the rest and force it to the disk."""
        self.store()
        self.file.flush()
        os.fsync(self.file.fileno())

    def leave(self) -> None:
        """Close the file and leave it in ``incoming``: from now on it is the queue's."""
        self._left = True
        self.file.close()

    def discard(self) -> None:
        """Close the file and remove it where it is still in ``incoming``, unless it was left there."""
        try:
            self.file.close()
        finally:  # it writes what is pending first, and a full disk would keep the file
            if not self._left:
                self.path.unlink(missing_ok=True)


def too_large(limit: int) -> TooLarge:
    """Make the error for a body beyond the limit."""
    return TooLarge(
        f"expected a submission of at most {limit / 1e6:g} MB; pack fewer listening samples or fewer datasets"
    )


Admit = Callable[[Mapping[str, str]], Awaitable[None]]
"""Called with the fields of a form when its file begins; raises where the sender may not send it."""


@asynccontextmanager
async def receive(request: Request, settings: Settings, admit: Admit | None = None) -> AsyncIterator[Upload]:
    """Receive the body of a request, a zip or a form with the field ``file``; discard it when the block ends.

    A caller that keeps the file moves it inside the block. Raises BadRequest, TooLarge, Unavailable where the disk
    has less than ``free_bytes`` left, and what ``admit`` raises.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > settings.upload_limit + _FORM_MARGIN:
        raise too_large(settings.upload_limit)
    try:
        await run_sync(_expect_room, settings)
        # in a thread: it waits while another process removes left-overs
        upload = await run_sync(new_upload, settings)
        try:
            await _fill(request, upload, settings, admit)
            yield upload
        finally:
            upload.discard()
    except OSError as error:
        raise cannot_store(error) from error


def cannot_store(error: OSError) -> Unavailable:
    """Make the answer where the disk has no room, or cannot be written."""
    return Unavailable(f"the upload cannot be stored: {error.strerror or error}; try again later")


def new_upload(settings: Settings) -> Upload:
    """Begin a file in ``incoming``, which is removed at the next start of a service unless its process lives."""
    with hold_off_cleaning(settings):
        return Upload(settings.incoming / secrets.token_hex(16), settings.upload_limit)


def _expect_room(settings: Settings) -> None:
    """Leave ``free_bytes`` to the database and to decisions. Raises Unavailable."""
    if not has_room(settings):
        raise Unavailable(
            f"the upload was not stored: this leaderboard keeps {settings.free_bytes // MEGABYTE} MB of its disk free, "
            "and its maintainers have to make room; send it again later",
            headers={"Retry-After": "300"},
        )


async def _fill(request: Request, upload: Upload, settings: Settings, admit: Admit | None) -> None:
    body_limit = settings.upload_limit + _FORM_MARGIN
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        form = FormReader(content_type, upload.take)
        async for data in _pieces(request, body_limit):
            form.feed(data)
            if form.has_file and admit is not None:
                await admit(form.fields)
                admit = None
            await _store_due(upload, settings)
        form.finish()
    elif kind in RAW:
        async for data in _pieces(request, body_limit):
            upload.take(data)
            await _store_due(upload, settings)
    else:
        raise BadRequest(f"expected Content-Type {FORM} with the field 'file', or application/zip; got {kind[:80]!r}")
    if not upload.size:
        raise BadRequest("expected a submission, got an empty file")
    await run_sync(upload.finish)


async def _store_due(upload: Upload, settings: Settings) -> None:
    """Hash and write in a thread, a megabyte at a time, while there is room: 64 uploads at once may be 6 GB."""
    if upload.due:
        await run_sync(_expect_room, settings)
        await run_sync(upload.store)


async def _pieces(request: Request, body_limit: int) -> AsyncIterator[bytes]:
    """Yield the body as it comes. Raises BadRequest for one that comes too slowly or breaks off, TooLarge."""
    stream, began = request.stream(), anyio.current_time()
    total, missing, patience = 0, PART, WINDOW
    while True:
        asked = anyio.current_time()
        try:
            with anyio.fail_after(min(patience, LONGEST - (asked - began))):
                data = await anext(stream, None)
        except TimeoutError:
            raise BadRequest(
                f"expected {PART / 1000:g} kB within each {WINDOW:g} s, and the whole file within "
                f"{LONGEST / 60:g} minutes; send the file again on a faster line"
            ) from None
        except ClientDisconnect:
            raise BadRequest("the connection ended before the file did") from None
        if data is None:
            return
        total, missing = total + len(data), missing - len(data)
        # only time of waiting for the sender counts, not that of the disk
        patience = patience - (anyio.current_time() - asked) if missing > 0 else WINDOW
        missing = missing if missing > 0 else PART
        if total > body_limit:  # the limit includes the other parts of a form
            raise TooLarge(f"expected a request of at most {body_limit / 1e6:g} MB")
        yield data
