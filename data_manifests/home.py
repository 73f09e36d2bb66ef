"""Folders of prepared datasets and downloaded package files, below ``CODEC_SUPERB_HOME``."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "CODEC_SUPERB_HOME"
AUDIO_FOLDER = "audio"
"""Folder of the stored clips, in the folder of their dataset."""


def codec_superb_home() -> Path:
    """Return ``$CODEC_SUPERB_HOME``, by default ``codec-superb`` in the user's cache folder; it need not exist yet."""
    given = os.environ.get(HOME_VARIABLE)
    if given:
        return Path(given).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    # XDG Base Directory specification: relative paths are invalid and must be ignored.
    base = Path(cache) if cache and Path(cache).is_absolute() else Path.home() / ".cache"
    return base / "codec-superb"


def datasets_home() -> Path:
    """Return the folder that holds one folder per prepared or indexed dataset."""
    return codec_superb_home() / "datasets"


def packages_home() -> Path:
    """Return the folder of downloaded package files, where a user may also put one by hand."""
    return codec_superb_home() / "packages"


def published_home() -> Path:
    """Return the folder that holds one folder per publisher's layout, of what was fetched from publishers."""
    return codec_superb_home() / "published"
