"""Write output files atomically, and turn errors of the disk into messages that name the file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codec_superb.data_manifests.files import write_atomically
from codec_superb.pipeline.errors import NoRoom, PipelineError

# EDQUOT: a quota; EFBIG: the limit on file sizes (ulimit -f)
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
KEPT = "what is finished is kept"
UNWRITTEN = "nothing was written"


def write_output(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` atomically, creating its folders; a device or a pipe is written into.

    Raises PipelineError with the path when the disk is full or the path is not writable; no partial file remains.
    """
    if path.is_dir():
        raise PipelineError(f"cannot write {path}: it is a folder; name a file in it")
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, /dev/null, a pipe
            path.write_bytes(data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as error:
        raise PipelineError(f"cannot write {path}: {error.strerror or error}") from error


def make_folder(folder: Path, left: str = KEPT) -> None:
    """Create the output folder ``folder`` with its parents; it may exist. Raises PipelineError where that fails."""
    with writing(folder, left):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def writing(place: Path, left: str = KEPT) -> Iterator[None]:
    """Convert an OSError of writing ``place`` to a PipelineError that names it.

    ``left`` says what remains. A BrokenPipeError is not converted: it concerns standard output, not ``place``.
    """
    try:
        yield
    # an OSError too: the reader of a pipe has gone, which is no fault of the place
    except BrokenPipeError:
        raise
    except OSError as error:
        other = PipelineError(f"cannot write {place}: {_reason(error)}; {left}: name another place")
        raise cannot_write(error, place, left) or other from error


def cannot_write(error: OSError, where: object, left: str = KEPT) -> PipelineError | None:
    """Return the error that ends a stage when the disk is full or not writable; None for an error of a single clip."""
    if error.errno in NO_ROOM:
        return NoRoom(f"no space to write {where}: {_reason(error)}; {left}: free space and run it again")
    if error.errno in REFUSED:
        return PipelineError(f"cannot write {where}: {_reason(error)}; {left}")
    return None


def _reason(error: OSError) -> str:
    """Return the system's message for the error number; Arrow's own text adds the name of a temporary file."""
    return os.strerror(error.errno) if error.errno else str(error)
