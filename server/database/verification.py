"""Tables of verification: keys, attestations, the queue of the worker, private datasets and their results."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from codec_superb.server.database.base import Base, now

JOB_KINDS = ("verify", "private")
"""``verify``: run clips of the submission again and compare; ``private``: run its codec on a private dataset."""
JOB_STATES = ("queued", "running", "done", "failed")


class VerificationKey(Base):
    """A public Ed25519 key whose attestations the board believes: its own, or a maintainer's."""

    __tablename__ = "verification_keys"

    id: Mapped[int] = mapped_column(primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the 32 bytes of the key, hexadecimal."""
    name: Mapped[str] = mapped_column(String(200))
    """Who signs with it."""
    public_key: Mapped[str] = mapped_column(String(64))
    """The 32 bytes, in base64."""
    added: Mapped[datetime] = mapped_column(default=now)
    revoked: Mapped[datetime | None]


class Attestation(Base):
    """A signed statement of what running a submission again gave."""

    __tablename__ = "attestations"

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    """Of the key that signed it."""
    sha256: Mapped[str] = mapped_column(String(64), unique=True)
    """Of what was signed: a file that is written otherwise is the same attestation."""
    agrees: Mapped[bool]
    """Whether every clip that was run again came out as submitted, within the stated tolerances."""
    document: Mapped[dict[str, Any]]
    """The whole file: what was signed, and the signature."""
    added: Mapped[datetime] = mapped_column(default=now)


class VerificationJob(Base):
    """One task of ``codec-superb verify-worker``."""

    __tablename__ = "verification_jobs"
    __table_args__ = (
        CheckConstraint(f"kind IN {JOB_KINDS}", name="kind"),
        CheckConstraint(f"state IN {JOB_STATES}", name="state"),
        Index(None, "state", "id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    kind: Mapped[str] = mapped_column(String(16))
    private_dataset_id: Mapped[int | None] = mapped_column(ForeignKey("private_datasets.id"), index=True)
    """Of a job of the kind ``private``."""
    state: Mapped[str] = mapped_column(String(16), default="queued")
    nonce: Mapped[str] = mapped_column(String(64))
    """Drawn when the job is made: with the file's hash it decides which clips are run; no submitter could know it."""
    clips: Mapped[int | None]
    """Clips of each dataset to run again; 0 for all, None for as many as catch a cheat (``docs/verification.md``)."""
    attempts: Mapped[int] = mapped_column(default=0)
    worker: Mapped[str] = mapped_column(String(200), default="")
    """Who has it: machine and process."""
    heartbeat: Mapped[datetime | None]
    """Last sign of life of the worker: a job whose worker is silent goes back to the queue. Of a queued job: the
    moment from which it may be taken again, after a failure."""
    created: Mapped[datetime] = mapped_column(default=now)
    finished: Mapped[datetime | None]
    outcome: Mapped[str] = mapped_column(String(32), default="")
    """``agrees``, ``differs``, ``nothing said``, ``fails here``, ``cannot run``, ``measured``, '' before."""
    message: Mapped[str] = mapped_column(Text, default="")
    """For moderators: what went wrong, or why the codec cannot be run here."""


class PrivateDataset(Base):
    """A dataset whose clips never leave the board. What visitors see of it: size, hours, commitment, rotation."""

    __tablename__ = "private_datasets"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    """Public name, such as ``private-2026``."""
    path: Mapped[str] = mapped_column(Text)
    """Where the worker finds the clips; never shown."""
    commitment: Mapped[str] = mapped_column(String(64))
    """SHA-256 over salt and manifest hash: shows later that it was not changed, and tells nothing now."""
    salt: Mapped[str] = mapped_column(String(64))
    """Secret until the dataset is retired and opened."""
    manifest_hash: Mapped[str] = mapped_column(String(64))
    """Secret as long: a guess at the clips could be held against it."""
    counts: Mapped[dict[str, Any]]
    """Category to number of clips."""
    sounds: Mapped[dict[str, Any]]
    """Category to a keyed hash of each clip's sound, the key being the salt; secret: overlaps are found by it."""
    seconds: Mapped[dict[str, Any]]
    """Category to whole seconds of sound, of categories with enough clips to be shown."""
    compared_with: Mapped[str] = mapped_column(String(200))
    """The public dataset beside whose scores its own are shown."""
    rotates: Mapped[datetime | None]
    """When another set takes its place."""
    added: Mapped[datetime] = mapped_column(default=now)
    retired: Mapped[datetime | None]
    """Since when nothing is run on it."""
    opened: Mapped[datetime | None]
    """Since when anybody may see salt and manifest hash."""


class PrivateResult(Base):
    """The score of a submission's codec in one category of a private dataset; of single clips nothing is kept."""

    __tablename__ = "private_results"
    __table_args__ = (UniqueConstraint("submission_id", "private_dataset_id", "category"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), index=True)
    private_dataset_id: Mapped[int] = mapped_column(ForeignKey("private_datasets.id"), index=True)
    category: Mapped[str] = mapped_column(String(16))
    summary: Mapped[dict[str, Any]]
    """``clips``, ``complete``, ``score``, ``low``, ``high``: all that is kept, rounded to what visitors see."""
    gap: Mapped[float | None]
    """Public score minus private score, rounded alike; None where one of the two is incomplete or has no score."""
    gap_low: Mapped[float | None]
    gap_high: Mapped[float | None]
    added: Mapped[datetime] = mapped_column(default=now)
