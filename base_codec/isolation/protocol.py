"""The protocol between a host and its worker: frames over pipes, arrays in shared memory.

A frame is twelve bytes (magic, length of the header, length of the blob; little-endian), a JSON header and a blob of
bytes. Arrays do not go through the pipe: the header's ``array`` describes the array in a :class:`SharedArray`. Host and
worker both load this file, the worker under another Python: it needs only the standard library and numpy.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
from typing import Any, BinaryIO

import numpy as np

VERSION = 3
"""Version of the protocol; increased with every incompatible change."""
MAGIC = b"CSIR"
LARGEST_HEADER = 1 << 24
_HEAD = struct.Struct("<4sII")


class ProtocolError(Exception):
    """The received bytes are not a frame."""


def pack(header: dict[str, Any], blob: bytes = b"") -> bytes:
    """Return a frame."""
    text = json.dumps(header).encode()
    return _HEAD.pack(MAGIC, len(text), len(blob)) + text + blob


def unpack(buffer: bytearray) -> tuple[dict[str, Any], bytes] | None:
    """Remove the first frame from ``buffer`` and return it; None while it is incomplete. Raises ProtocolError."""
    if not MAGIC.startswith(bytes(buffer[: len(MAGIC)])):
        raise ProtocolError(f"expected a frame, got {bytes(buffer[:40])!r}")
    if len(buffer) < _HEAD.size:
        return None
    _, header_size, blob_size = _HEAD.unpack_from(buffer)
    if header_size > LARGEST_HEADER:
        raise ProtocolError(f"expected a header of at most {LARGEST_HEADER} bytes, got {header_size}")
    start, end = _HEAD.size + header_size, _HEAD.size + header_size + blob_size
    if len(buffer) < end:
        return None
    try:
        header = json.loads(bytes(buffer[_HEAD.size : start]))
    except ValueError as error:
        raise ProtocolError(f"expected a JSON header, got {bytes(buffer[_HEAD.size : start])[:40]!r}") from error
    blob = bytes(buffer[start:end])
    del buffer[:end]
    return header, blob


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte of ``data``."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class SharedArray:
    """Shared memory for one array at a time; one process writes, the other reads.

    It is an anonymous file, which the kernel frees with the last process that holds it, however that one ended.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def put(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Copy ``array`` in and return its dtype and shape, from which :meth:`get` reads it."""
        array = np.ascontiguousarray(array)
        # objects and texts would be pointers of the other process
        if array.dtype.kind not in "biuf":
            raise ProtocolError(f"expected an array of numbers, got {array.dtype}")
        if array.nbytes > os.fstat(self.descriptor).st_size:
            # grows only: the other side may still have the longer one mapped
            os.ftruncate(self.descriptor, array.nbytes)
        if array.nbytes:
            target = np.frombuffer(self._mapped(array.nbytes), array.dtype, array.size)
            target[:] = array.reshape(-1)
        return {"dtype": array.dtype.str, "shape": list(array.shape)}

    def get(self, note: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Return a copy of the array that ``note`` describes."""
        dtype, shape = np.dtype(note["dtype"]), tuple(note["shape"])
        size = int(np.prod(shape, dtype=np.int64))
        if not size:
            return np.zeros(shape, dtype)
        if size * dtype.itemsize > os.fstat(self.descriptor).st_size:
            raise ProtocolError(f"expected {size * dtype.itemsize} bytes of shared memory for {note}, there are fewer")
        # a copy: the next answer overwrites the shared memory
        return np.frombuffer(self._mapped(size * dtype.itemsize), dtype, size).reshape(shape).copy()

    def _mapped(self, size: int) -> mmap.mmap:
        if self._map is None or len(self._map) < size:
            self._map = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)
        return self._map


def shared_file() -> BinaryIO:
    """Return an anonymous file: in memory by memfd_create (Linux), else an unlinked temporary file."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("codec-superb"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
