"""Optional storage of a run's tokens: one NumPy file per clip, replaced atomically."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.objects.store_path import Place, readable
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.audio_store import file_name

SUFFIX = ".npy"


def token_file_name(clip_id: str) -> str:
    """Return the relative path of a clip's tokens."""
    return file_name(clip_id, SUFFIX)


def write_tokens(path: Path, tokens: NDArray[np.integer[Any]]) -> None:
    """Store tokens ``(codebooks, frames)``. Raises OSError when the disk is full or not writable."""
    content = io.BytesIO()
    # a pickle in a .npy file runs code when it is loaded
    np.save(content, tokens, allow_pickle=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.getbuffer(), sync=False)


def read_tokens(path: Place) -> NDArray[np.integer[Any]]:
    """Return the tokens ``(codebooks, frames)``. Raises RunFolderError when the file is missing or damaged."""
    try:
        tokens: NDArray[np.integer[Any]] = np.load(readable(path), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise RunFolderError(f"the tokens in {path} cannot be read: {error}; delete the file, run it again") from error
    return tokens
