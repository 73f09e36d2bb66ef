"""Signed attestations: a statement, the fingerprint of a key, and an Ed25519 signature (RFC 8032) over both.

What is signed is :data:`PREFIX`, the fingerprint and the statement as strict JSON with sorted names: the same statement
has one form, however the file was written.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import StringConstraints, ValidationError

from codec_superb.field_faults import sentences
from codec_superb.names_first import first_misnamed
from codec_superb.pipeline.errors import PipelineError, SubmissionError
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.verification.keys import fingerprint_of, public_key_of, signature_is_valid
from codec_superb.pipeline.verification.statement import Hex64, Statement
from codec_superb.record import WHOLE, Record

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PREFIX = b"codec-superb attestation 1\n"
"""Begins what is signed: a signature made for something else is none here."""
SIZE_LIMIT = 4_000_000
"""Bytes of a file at most: 200,000 clips that agree take some 16 MB, 20,000 that differ in one number 4 MB."""

_EXPECTED = "expected an attestation as `codec-superb verify` writes it"


class AttestationError(PipelineError):
    """A file is no attestation, or its signature is not that of the key."""


class Attestation(Record):
    """A file that anyone can check offline."""

    format: Annotated[Literal[1], WHOLE] = 1
    statement: Statement
    fingerprint: Hex64
    """SHA-256 of the 32 bytes of the public key that signed it."""
    # RFC 8032, 5.1.6: a signature has 64 bytes, 86 letters and two signs of padding in base64
    signature: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{86}==$")]
    """Ed25519, base64."""

    @property
    def sha256(self) -> str:
        """Hash of what was signed: the same however the file was written."""
        return hashlib.sha256(_signed(self.statement, self.fingerprint)).hexdigest()

    def to_json(self) -> bytes:
        """Serialise as strict JSON."""
        return strict_json.dumps(self.model_dump(mode="json"))


def sign(statement: Statement, key: Ed25519PrivateKey) -> Attestation:
    """Sign a statement."""
    fingerprint = fingerprint_of(public_key_of(key))
    signature = key.sign(_signed(statement, fingerprint))
    return Attestation(
        statement=statement, fingerprint=fingerprint, signature=base64.b64encode(signature).decode("ascii")
    )


def bytes_of(file: Path) -> bytes:
    """Read a file that may be an attestation. Raises AttestationError where it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise AttestationError(f"expected an attestation, {file} cannot be read: {error.strerror}") from error


def read_attestation(data: bytes) -> Attestation:
    """Read an attestation strictly; its signature is not checked. Raises AttestationError."""
    if len(data) > SIZE_LIMIT:
        raise AttestationError(f"expected an attestation of at most {SIZE_LIMIT} bytes, got {len(data)}")
    try:
        plain = strict_json.loads(data)  # before pydantic, which takes NaN and, of repeated names, the last
        if isinstance(plain, dict) and type(plain.get("format", 1)) is not int:  # true == 1.0 == 1 for a literal
            raise AttestationError(f"expected the format 1, a whole number, got {plain['format']!r}"[:200])
        if re.search(rb"(?<!\\)(?:\\\\)*\\u0000", data):
            raise AttestationError("expected texts without the character 0, which PostgreSQL does not keep, got one")
        if (fault := first_misnamed(Attestation, plain)) is not None:
            raise AttestationError(f"{_EXPECTED}: {fault}")
        return Attestation.model_validate_json(data, strict=True)
    except (ValidationError, SubmissionError) as error:
        why = sentences(error)[:500] if isinstance(error, ValidationError) else error
        raise AttestationError(f"{_EXPECTED}: {why}") from error


def check_signature(attestation: Attestation, public_key: str) -> None:
    """Raise AttestationError where the attestation was not signed by the key (32 bytes in base64)."""
    if fingerprint_of(public_key) != attestation.fingerprint:
        raise AttestationError(
            f"expected a signature of the key {fingerprint_of(public_key)[:16]}…, got one of another key, "
            f"{attestation.fingerprint[:16]}…"
        )
    signature = base64.b64decode(attestation.signature)
    if not signature_is_valid(public_key, signature, _signed(attestation.statement, attestation.fingerprint)):
        raise AttestationError("the signature does not fit: the attestation was changed after it was signed")


def _signed(statement: Statement, fingerprint: str) -> bytes:
    return PREFIX + strict_json.dumps({"fingerprint": fingerprint, "statement": statement.model_dump(mode="json")})
