"""Memory that only maps a checkpoint can be given back: the system reads it from the file again when it is needed.

The parameters of a float32 checkpoint are not copied but mapped, so what counts as resident grows with every part of
the model that was used. A long clip needs its encoder first and its decoder then, and beside them an hour of sound.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_PAGEOUT = 21
"""``MADV_PAGEOUT`` of Linux 5.4 and newer; others refuse it, and nothing happens."""


def page_out(folder: Path) -> None:
    """Let go of the resident pages of all ``*.safetensors`` in ``folder``, on Linux; elsewhere do nothing.

    No value changes: pages that were written to are not of the file any more, and stay.
    """
    library = ctypes.CDLL(None)
    for start, length in _mappings({os.path.realpath(file) for file in folder.glob("*.safetensors")}):
        library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _PAGEOUT)


def _mappings(files: set[str]) -> Iterator[tuple[int, int]]:
    """Yield address and length of what this process has mapped of ``files``."""
    if not _MAPS.is_file():
        return
    for line in _MAPS.read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] in files:  # noqa: PLR2004 - address, rights, offset, device, inode, path
            start, end = (int(address, 16) for address in fields[0].split("-"))
            yield start, end - start
