"""Write a file that a person asked for (a page, a submission): whole or not at all, or one clear error."""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.files import write_atomically
from codec_superb.pipeline.errors import PipelineError


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
