"""Release the resident pages of a memory-mapped checkpoint; the system reads them from the file again when needed.

The parameters of a float32 checkpoint are memory-mapped, not copied, so resident memory grows with every part of the
model that is used. A long clip needs first the encoder and then the decoder, and beside them memory for the audio.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_MAPS = Path("/proc/self/maps")
# MADV_PAGEOUT, Linux 5.4; an older kernel answers EINVAL, and nothing happens
_PAGEOUT = 21
"""``MADV_PAGEOUT`` of madvise(2), Linux 5.4 and newer; older kernels refuse it without effect."""


def page_out(folder: Path) -> None:
    """Release the resident pages of all ``*.safetensors`` in ``folder``, on Linux; elsewhere do nothing.

    No value changes: pages of a private mapping that were written to are copies and stay.
    """
    library = ctypes.CDLL(None)
    for start, length in _mappings({os.path.realpath(file) for file in folder.glob("*.safetensors")}):
        library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _PAGEOUT)


def _mappings(files: set[str]) -> Iterator[tuple[int, int]]:
    """Yield address and length of each mapping of ``files`` in this process, from proc(5)'s ``maps``."""
    if not _MAPS.is_file():
        return
    for line in _MAPS.read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] in files:  # noqa: PLR2004 - address, rights, offset, device, inode, path
            start, end = (int(address, 16) for address in fields[0].split("-"))
            yield start, end - start
