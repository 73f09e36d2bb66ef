"""The protocol between a host and its worker: frames over pipes, arrays in shared memory.

A frame is twelve bytes (magic, length of the header, length of the blob; little-endian), a JSON header and a blob of
bytes. Sound and payloads are the header's ``values``, one for each clip: each says how many bytes of the blob are its
own, and describes its array, which does not go through the pipe but lies in :class:`SharedArrays`. Host and worker both
load this file, the worker under another Python: it needs only the standard library and numpy.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

VERSION = 4
"""Version of the protocol; increased with every incompatible change."""
MAGIC = b"CSIR"
LARGEST_HEADER = 1 << 24
ALIGNMENT = 64
"""Arrays begin at multiples of this many bytes, a line of the processor's cache."""
_HEAD = struct.Struct("<4sII")
Value = bytes | tuple[np.ndarray[Any, Any], bytes]
"""What is sent of one clip: bytes, or an array with side information (empty where there is none)."""


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


class SharedArrays:
    """Shared memory for the arrays of one frame; one process writes, the other reads.

    It is an anonymous file, which the kernel frees with the last process that holds it, however that one ended.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def put(self, values: Sequence[Value]) -> tuple[list[dict[str, Any]], bytes]:
        """Copy the arrays of ``values`` in, in place of the last ones; return the header's ``values``, and the blob."""
        described: list[dict[str, Any]] = []
        blob, end = bytearray(), 0
        for value in values:
            array, data = (None, value) if isinstance(value, bytes) else value
            described.append({"bytes": len(data)})
            blob += data
            if array is None:
                continue
            # objects and texts would be pointers of the other process
            if array.dtype.kind not in "biuf":
                raise ProtocolError(f"expected an array of numbers, got {array.dtype}")
            described[-1]["array"] = {"dtype": array.dtype.str, "shape": list(array.shape), "start": end}
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        if end > os.fstat(self.descriptor).st_size:
            # grows only: the other side may still have the longer one mapped
            os.ftruncate(self.descriptor, end)
        for value, note in zip(values, described, strict=True):
            if not isinstance(value, bytes) and value[0].size:
                flat = value[0].reshape(-1)
                np.frombuffer(self._mapped(end), flat.dtype, flat.size, note["array"]["start"])[:] = flat
        return described, bytes(blob)

    def get(self, described: Sequence[dict[str, Any]], blob: bytes) -> list[Value]:
        """Return the values of :meth:`put`, arrays copied. Raises ProtocolError where blob or memory is too short."""
        values: list[Value] = []
        start = 0
        for note in described:
            data = blob[start : start + note["bytes"]]
            start += note["bytes"]
            values.append((self._array(note["array"]), data) if "array" in note else data)
        if start != len(blob):
            raise ProtocolError(f"expected {start} bytes beside the header, got {len(blob)}")
        return values

    def _array(self, note: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Return a copy of the array that ``note`` describes."""
        dtype, shape = np.dtype(note["dtype"]), tuple(note["shape"])
        size = int(np.prod(shape, dtype=np.int64))
        if not size:
            return np.zeros(shape, dtype)
        end = note["start"] + size * dtype.itemsize
        if end > os.fstat(self.descriptor).st_size:
            raise ProtocolError(f"expected {end} bytes of shared memory for {note}, there are fewer")
        # a copy: the next answer overwrites the shared memory
        return np.frombuffer(self._mapped(end), dtype, size, note["start"]).reshape(shape).copy()

    def _mapped(self, size: int) -> mmap.mmap:
        if self._map is None or len(self._map) < size:
            self._map = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)
        return self._map


def shared_file() -> BinaryIO:
    """Return an anonymous file: in memory by memfd_create (Linux), else an unlinked temporary file."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("codec-superb"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
