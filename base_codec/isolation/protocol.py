"""The wire between a host and its worker: frames over pipes, arrays in memory that both see.

A frame is twelve bytes (magic, length of the header, length of the blob; little-endian), a JSON header and a blob of
bytes. Arrays do not go through the pipe: the header's ``array`` says where it lies in a :class:`SharedArray`. Both ends
run this very file, also under another Python than the host's: it needs only the standard library and numpy.
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
"""Changes with every change that makes two ends misunderstand each other."""
MAGIC = b"CSIR"
LARGEST_HEADER = 1 << 24
_HEAD = struct.Struct("<4sII")


class ProtocolError(Exception):
    """What came is no frame."""


def pack(header: dict[str, Any], blob: bytes = b"") -> bytes:
    """Return a frame."""
    text = json.dumps(header).encode()
    return _HEAD.pack(MAGIC, len(text), len(blob)) + text + blob


def unpack(buffer: bytearray) -> tuple[dict[str, Any], bytes] | None:
    """Take the first frame out of ``buffer``; None while it is not whole. Raises ProtocolError on anything else."""
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
    """Memory that both processes see, for one array at a time; one end writes, the other reads.

    It is a file without a name, so that it vanishes with its last user, however that one ended.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def put(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Copy ``array`` in and return the note from which :meth:`get` finds it."""
        array = np.ascontiguousarray(array)
        if array.dtype.kind not in "biuf":
            raise ProtocolError(f"expected an array of numbers, got {array.dtype}")
        if array.nbytes > os.fstat(self.descriptor).st_size:
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
        return np.frombuffer(self._mapped(size * dtype.itemsize), dtype, size).reshape(shape).copy()

    def _mapped(self, size: int) -> mmap.mmap:
        if self._map is None or len(self._map) < size:
            self._map = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)
        return self._map


def shared_file() -> BinaryIO:
    """Return a file without a name: in memory where the system can, else in the temporary folder."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("codec-superb"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
