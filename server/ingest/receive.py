"""Receives an upload: streams it into ``incoming``, hashes it, enforces size and speed limits, and fsyncs it."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

import anyio
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.requests import ClientDisconnect

from codec_superb.server.errors import BadRequest, TooLarge, Unavailable
from codec_superb.server.ingest.form import FormReader
from codec_superb.server.settings import Settings

RAW = ("application/zip", "application/octet-stream", "application/x-zip-compressed")
FORM = "multipart/form-data"
IDLE = 60.0
"""Seconds without a byte after which an upload is given up."""
SLOWEST = 10_000
"""Bytes a second below which an upload is aborted, so that slow senders do not occupy all places."""
AT_ONCE = 64
"""Uploads that one process receives at the same time."""
_BUFFER = 1 << 20
_FORM_MARGIN = 100_000
"""Bytes that a form may have besides its file."""


class Upload:
    """A file on its way in."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.size = 0
        self.fields: Mapping[str, str] = {}
        """Other fields of the form that it came with."""
        self._limit = limit
        self._hash = hashlib.sha256()
        self._pending = bytearray()
        self.file: BinaryIO = path.open("x+b")

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

    def discard(self) -> None:
        """Close the file and remove it where it is still in ``incoming``."""
        self.file.close()
        self.path.unlink(missing_ok=True)


def too_large(limit: int) -> TooLarge:
    """Make the error for a body beyond the limit."""
    return TooLarge(
        f"expected a submission of at most {limit / 1e6:g} MB; pack fewer listening samples or fewer datasets"
    )


@asynccontextmanager
async def receive(request: Request, settings: Settings) -> AsyncIterator[Upload]:
    """Receive the body of a request, a zip or a form with the field ``file``; discard it when the block ends.

    A caller that keeps the file moves it inside the block. Raises BadRequest, TooLarge, or Unavailable where the disk
    or this process has no room.
    """
    state = request.app.state
    if getattr(state, "receiving", 0) >= AT_ONCE:
        raise Unavailable(f"expected fewer than {AT_ONCE} uploads at once; try again", headers={"Retry-After": "10"})
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > settings.upload_limit + _FORM_MARGIN:
        raise too_large(settings.upload_limit)
    state.receiving = getattr(state, "receiving", 0) + 1
    try:
        upload = Upload(settings.incoming / secrets.token_hex(16), settings.upload_limit)
        try:
            await _fill(request, upload, settings.upload_limit + _FORM_MARGIN)
            yield upload
        finally:
            upload.discard()
    except OSError as error:
        raise Unavailable(f"the upload cannot be stored: {error.strerror or error}; try again later") from error
    finally:
        state.receiving -= 1


async def _fill(request: Request, upload: Upload, body_limit: int) -> None:
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        form = FormReader(content_type, upload.take)
        await _pass_on(request, upload, form, body_limit)
        form.finish()
        upload.fields = form.fields
    elif kind in RAW:
        await _pass_on(request, upload, None, body_limit)
    else:
        raise BadRequest(f"expected Content-Type {FORM} with the field 'file', or application/zip; got {kind[:80]!r}")
    if not upload.size:
        raise BadRequest("expected a submission, got an empty file")
    await run_sync(upload.finish)


async def _pass_on(request: Request, upload: Upload, form: FormReader | None, body_limit: int) -> None:
    """Take the body piece by piece; disk and hash work in a thread, a megabyte at a time."""
    stream, total, began = request.stream(), 0, anyio.current_time()
    while True:
        try:
            with anyio.fail_after(IDLE):
                data = await anext(stream, None)
        except TimeoutError:
            raise BadRequest(f"expected the next bytes within {IDLE:g} s; send the file again") from None
        except ClientDisconnect:
            raise BadRequest("the connection ended before the file did") from None
        if data is None:
            return
        total += len(data)
        if (anyio.current_time() - began - IDLE) * SLOWEST > total:
            raise BadRequest(f"expected at least {SLOWEST / 1000:g} kB a second; send the file again on a faster line")
        if total > body_limit:  # the limit includes the other parts of a form
            raise TooLarge(f"expected a request of at most {body_limit / 1e6:g} MB")
        upload.take(data) if form is None else form.feed(data)
        if upload.due:
            await run_sync(upload.store)
