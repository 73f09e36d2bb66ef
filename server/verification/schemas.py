"""Answers about keys and attestations."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from codec_superb.server.database.models import Attestation, VerificationKey
from codec_superb.server.http.api_model import ApiModel


class KeyItem(ApiModel):
    """A key whose attestations this board believes, or believed."""

    name: str
    """Who signs with it."""
    fingerprint: str
    """SHA-256 of the 32 bytes of the key."""
    public_key: str
    """The 32 bytes of the Ed25519 key, in base64."""
    added: datetime
    revoked: datetime | None
    """Since when it is believed no longer."""

    @classmethod
    def of(cls, key: VerificationKey) -> KeyItem:
        """Describe a key."""
        return cls(
            name=key.name, fingerprint=key.fingerprint, public_key=key.public_key, added=key.added, revoked=key.revoked
        )


class KeyList(ApiModel):
    """All of them, the oldest first."""

    format: Literal[1] = 1
    keys: list[KeyItem]


class AttestationItem(ApiModel):
    """One attestation about a submission."""

    sha256: str
    """Of what was signed: `/api/v1/attestations/{sha256}` is the whole."""
    submission: str
    signed_by: str
    """Name of the key."""
    fingerprint: str
    """Of the key."""
    agrees: bool
    """Whether everything that was run again came out as submitted."""
    drawn: int
    """Clips that were run again."""
    differing: int
    """Clips that differ."""
    received: datetime

    @classmethod
    def of(cls, row: Attestation, signed_by: str) -> AttestationItem:
        """Describe an attestation without its clips."""
        clips = row.document["statement"]["clips"]
        return cls(
            sha256=row.sha256, submission=row.submission_id, signed_by=signed_by, fingerprint=row.fingerprint,
            agrees=row.agrees, drawn=len(clips), differing=sum(clip["verdict"] == "differs" for clip in clips),
            received=row.added,
        )  # fmt: skip


class AttestationList(ApiModel):
    """Those of a submission, the newest first."""

    attestations: list[AttestationItem]


class AttestationReceipt(ApiModel):
    """What became of an attestation."""

    attestation: AttestationItem
    status: str
    """Of the submission, now."""
