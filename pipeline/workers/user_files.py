"""The user's own files that tasks run: they must be equal where tasks are given and on the machines that take them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from codec_superb.data_manifests.files import unchanged_file_sha256
from codec_superb.files_read import modules_of
from codec_superb.pipeline.errors import PipelineError
from codec_superb.plugins import imported_files


def user_files() -> dict[str, str]:
    """Return the SHA-256, by path, of the files given as ``file.py:NAME`` and of the user's modules they import."""
    files = {path for file in imported_files() for path in (file, *modules_of(file))}
    return {str(path): unchanged_file_sha256(path) for path in sorted(files) if path.is_file()}


def refuse_others(expected: Mapping[str, str]) -> None:
    """Raise PipelineError, with both hashes, where this machine has another file; importing says which is missing."""
    for name, sha256 in expected.items():
        with suppress(FileNotFoundError):
            if (found := unchanged_file_sha256(Path(name))) != sha256:
                raise PipelineError(
                    f"expected the same files on all machines: where the command was called {name} has SHA-256 "
                    f"{sha256}, on {socket.gethostname()} {found}: copy it there, or put it where all read it"
                )
