"""An object as a file that is read by range requests, for libraries that take open files."""

from __future__ import annotations

import io
from typing import Any

from codec_superb.data_manifests.errors import LayoutError, ObjectError
from codec_superb.data_manifests.objects.stores import Found, store_of

AHEAD = 8 << 20
"""Bytes of a request where an object is read from its beginning to its end."""


class ObjectFile(io.RawIOBase):
    """One version of an object. Reads raise ObjectError once it has changed."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self._store, self._key = store_of(found.url)
        self._place = 0

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether places can be chosen: yes."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Choose a place; nothing is asked for."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.found.size}[whence]
        self._place = max(0, base + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer by one request, up to the end of the object."""
        view = memoryview(buffer).cast("B")
        size = max(0, min(len(view), self.found.size - self._place))
        view[:size] = self._store.read(self._key, self._place, size, self.found.version)
        self._place += size
        return size


def in_order(found: Found) -> io.BufferedReader:
    """Open an object that is read from beginning to end, :data:`AHEAD` bytes a request."""
    return io.BufferedReader(ObjectFile(found), AHEAD)


def open_table(found: Found, *, whole_groups: bool = False) -> Any:
    """Open a Parquet table of a store; its footer alone is read.

    ``whole_groups`` reads the columns of a row group in few requests, of which each is held in memory; otherwise a
    column is read in pieces, however long it is. Raises LayoutError for what is no table.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pa.PythonFile(ObjectFile(found), "r")
        return pq.ParquetFile(file, buffer_size=0 if whole_groups else AHEAD, pre_buffer=whole_groups)
    except ObjectError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise LayoutError(f"{found.url} is no Parquet file that can be read: {str(error)[:200]}") from error
