"""Keeps database, secrets and uploads from other users of the machine."""

from __future__ import annotations

import stat
from pathlib import Path

from sqlalchemy import make_url

from codec_superb.server.operations.logs import get_logger
from codec_superb.server.people.secret import FILE
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault_layout import LOCK

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOG = get_logger(__name__)


def mend_modes(settings: Settings) -> list[Path]:
    """Take the rights of others from what an older version or a wide umask left; return what was mended.

    A storage folder that other things use too, such as ``/tmp`` with its sticky bit, keeps its rights. What belongs to
    somebody else is left, with a warning in the log.
    """
    folders = [settings.files, settings.incoming]
    if settings.files.is_dir() and not settings.storage.stat().st_mode & stat.S_ISVTX:
        folders.append(settings.storage)
    files = [settings.storage / FILE, settings.storage / LOCK]
    url = make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and url.database:
        files += [Path(url.database + end) for end in ("", "-wal", "-shm", ".lock")]
    wanted = [(path, PRIVATE_FOLDER) for path in folders] + [(path, PRIVATE_FILE) for path in files]
    return [path for path, mode in wanted if _mended(path, mode)]


def _mended(path: Path, mode: int) -> bool:
    try:
        before = stat.S_IMODE(path.stat().st_mode)
        if not before & _OTHERS:
            return False
        path.chmod(mode)
    except FileNotFoundError:
        return False
    except PermissionError:
        _LOG.warning("other users of this machine can read it, and its owner is not this one", path=str(path))
        return False
    _LOG.info("other users of this machine could read it; now its owner alone can", path=str(path), was=f"{before:o}")
    return True
