"""Listening samples of a submission that is not public yet, from its file in the storage folder."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from codec_superb.pipeline.submission.archive import SAMPLE_LIMIT
from codec_superb.server.errors import NotFound

_NAME = re.compile(r"[0-9]{2}-(reference|resynthesis)\.ogg")


def read_sample(files: Path, file_sha256: str, name: str) -> bytes:
    """Return ``samples/<name>`` of the submission whose file has this hash. Raises NotFound where there is none.

    The file was checked when it came; only what a sample may be is read even so.
    """
    if not _NAME.fullmatch(name):
        raise NotFound(f"no sample is named {name[:80]!r}")
    try:
        with zipfile.ZipFile(files / f"{file_sha256}.zip") as archive, archive.open(f"samples/{name}") as member:
            return member.read(SAMPLE_LIMIT)
    except (KeyError, FileNotFoundError) as error:
        raise NotFound(f"this submission has no sample {name}") from error
