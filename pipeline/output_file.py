"""Places where a person wants something written: whole or not at all, or one clear error that names the place."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codec_superb.data_manifests.files import write_atomically
from codec_superb.pipeline.errors import PipelineError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
KEPT = "what is finished is kept"
UNWRITTEN = "nothing was written"


def write_output(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` in one step, with the folders it needs; what lay there stays until then.

    Raises PipelineError with the path when the disk is full or the place cannot be written; nothing is left behind.
    """
    if path.is_dir():
        raise PipelineError(f"cannot write {path}: it is a folder; name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as error:
        raise PipelineError(f"cannot write {path}: {error.strerror or error}") from error


def make_folder(folder: Path, left: str = KEPT) -> None:
    """Create ``folder``, where something is to be written, with those above it; it may be there.

    Raises PipelineError where the system does not let it.
    """
    with writing(folder, left):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def writing(place: Path, left: str = KEPT) -> Iterator[None]:
    """Let what the system has against writing ``place`` end in a PipelineError with its name.

    ``left`` says what there is all the same. A BrokenPipeError passes: it is of the terminal, not of ``place``.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        other = PipelineError(f"cannot write {place}: {_reason(error)}; {left}: name another place")
        raise cannot_write(error, place, left) or other from error


def cannot_write(error: OSError, where: object, left: str = KEPT) -> PipelineError | None:
    """Return the error that must end a stage when the disk is full or refuses; None when only one clip is at fault."""
    if error.errno in NO_ROOM:
        return PipelineError(f"no room to write {where}: {_reason(error)}; {left}: make room and call it again")
    if error.errno in REFUSED:
        return PipelineError(f"cannot write {where}: {_reason(error)}; {left}")
    return None


def _reason(error: OSError) -> str:
    """Return the system's own words: Arrow adds to them, also a temporary file's name."""
    return os.strerror(error.errno) if error.errno else str(error)
