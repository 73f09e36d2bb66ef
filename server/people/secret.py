"""The key that signs cookies and form tokens: configured, or generated once and stored in the storage folder."""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
from hashlib import sha256
from pathlib import Path

from fastapi import Request

from codec_superb.data_manifests.files import give_new_name
from codec_superb.server.errors import Unavailable
from codec_superb.server.settings import Settings

FILE = "secret_key"
_SHORTEST = 32


def secret_key(settings: Settings) -> str:
    """Return the key of ``settings``, or of the file ``secret_key`` in its storage folder, which is created if missing.

    Processes that start together get the same key. Raises ValueError for a file without a valid key.
    """
    if settings.secret_key is not None:
        return settings.secret_key
    file = settings.storage / FILE
    if not file.exists():
        make_secret(file)
    key = file.read_text("ascii", "replace").strip()
    if len(key) < _SHORTEST or not key.isascii():
        raise ValueError(
            f"{file}: expected a key of at least {_SHORTEST} ASCII characters; remove the file to make a new one"
        )
    return key


def key_of(request: Request) -> str:
    """Return the key of the running service; the file is read once. Raises Unavailable where it cannot be made."""
    state = request.app.state
    if not hasattr(state, "secret_key"):
        try:
            state.secret_key = secret_key(state.settings)
        except OSError as error:
            raise Unavailable(f"the key of this service cannot be stored: {error.strerror or error}") from error
    key: str = state.secret_key
    return key


def keyed_hash(settings: Settings, text: str) -> str:
    """Return a hash of ``text`` that nobody without the key of ``settings`` can look up, 64 hexadecimal digits.

    Of the four billion addresses of IPv4 all plain hashes are computed in a minute.
    """
    return hmac.digest(secret_key(settings).encode(), text.encode(), sha256).hex()


def make_secret(file: Path) -> None:
    """Write a new secret, readable by this user only; one that another process wrote concurrently is kept."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(secrets.token_urlsafe(48) + "\n")
            out.flush()
            os.fsync(out.fileno())
        # the file is complete when it gets its name
        give_new_name(Path(name), file)
    except FileExistsError:
        pass
    finally:
        Path(name).unlink(missing_ok=True)
