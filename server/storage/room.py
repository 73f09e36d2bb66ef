"""How much of the storage's disk is left: its last bytes are for the database and decisions (decision 62)."""

from __future__ import annotations

import shutil

from codec_superb.server.settings import Settings


def has_room(settings: Settings) -> bool:
    """Whether ``free_bytes`` are free. Raises OSError where the folder is gone."""
    return shutil.disk_usage(settings.storage).free >= settings.free_bytes
