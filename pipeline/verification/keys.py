"""Ed25519 keys of maintainers: a private key is a PEM file (PKCS #8) of its owner's alone, a public one is base64.

The package ``cryptography`` (extra ``verify``) is imported where a key is used.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from codec_superb.base_codec.errors import MissingDependency
from codec_superb.data_manifests.files import give_new_name
from codec_superb.missing_package import not_installed
from codec_superb.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

BYTES = 32
KEYS_PATH = "/.well-known/codec-superb-keys.json"
"""Where a board shows the public keys that it believes."""


class KeyFault(PipelineError):
    """A file or a text is no key of this kind, or a private key lies open to others."""


def create_key(file: Path) -> str:
    """Make a private key in a new file that only its owner can read; return the public key.

    Raises KeyFault where the file exists, since a key is never overwritten, and where it cannot be written.
    """
    key = _ed25519().Ed25519PrivateKey.generate()
    try:
        _write_new(file, _pem(key))
    except FileExistsError as error:
        raise KeyFault(f"{file}: there is a file already: a key is never overwritten, name another one") from error
    except OSError as error:
        raise KeyFault(f"{file}: cannot be written: {error.strerror or error}; name another place") from error
    return public_key_of(key)


@contextmanager
def new_key(file: Path) -> Iterator[str]:
    """Make a key as :func:`create_key` for as long as the block goes well: where it raises, the file is gone."""
    public = create_key(file)
    try:
        yield public
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _write_new(file: Path, data: bytes) -> None:
    """Write a file that is not there, whole or not at all, for its owner alone. Raises FileExistsError, OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=".key-", dir=file.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        # the file is whole when it gets its name
        give_new_name(Path(name), file)
    finally:
        Path(name).unlink(missing_ok=True)


def load_key(file: Path) -> Ed25519PrivateKey:
    """Read a private key. Raises KeyFault for anything else, and for a file that others can read."""
    kinds = _ed25519()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        mode, data = file.stat().st_mode, file.read_bytes()
    except OSError as error:
        raise KeyFault(f"{file}: expected a private key, got {error.strerror}") from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFault(f"{file}: others can read this private key: chmod 600 it, or better make a new one")
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFault(f"{file}: expected a private key as `codec-superb admin key create` writes it") from error
    if not isinstance(key, kinds.Ed25519PrivateKey):
        raise KeyFault(f"{file}: expected an Ed25519 key, got one of another kind")
    return cast("Ed25519PrivateKey", key)


def public_key_of(key: Ed25519PrivateKey) -> str:
    """Return the public key, 32 bytes in base64."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode("ascii")


def read_public_key(given: str) -> str:
    """Return a public key that is given as base64, or as a file that holds it. Raises KeyFault."""
    text = given
    if Path(given).is_file():
        text = Path(given).read_text("utf-8", errors="replace")
    return base64.b64encode(_raw(text.strip())).decode("ascii")


def fingerprint_of(public_key: str) -> str:
    """Return the SHA-256 of the key's 32 bytes, hexadecimal. Raises KeyFault for what is no public key."""
    return hashlib.sha256(_raw(public_key)).hexdigest()


def signature_is_valid(public_key: str, signature: bytes, signed: bytes) -> bool:
    """Whether a signature over ``signed`` was made with the private key that belongs to ``public_key``."""
    kinds = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        kinds.Ed25519PublicKey.from_public_bytes(_raw(public_key)).verify(signature, signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _raw(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise KeyFault(f"expected a public key, 32 bytes in base64, got {text[:60]!r}") from error
    if len(raw) != BYTES:
        raise KeyFault(f"expected a public key of 32 bytes in base64, got {len(raw)} bytes")
    return raw


def _pem(key: Ed25519PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _ed25519() -> ModuleType:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError as error:
        raise MissingDependency(not_installed("an attestation's signature", "cryptography", extra="verify")) from error
    return ed25519
