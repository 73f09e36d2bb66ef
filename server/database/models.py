"""The tables as SQLAlchemy models. Only migrations create the schema; a test compares them with these classes.

Times are UTC. Enumerations (status, category) are strings, with a check constraint where the set is closed, so that
SQLite and PostgreSQL store the same.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

STATUSES = ("pending", "published", "verified", "withdrawn")
PUBLIC = ("published", "verified")
"""Statuses whose results anybody may see."""


class Moment(TypeDecorator[datetime]):
    """An aware UTC datetime on both databases; SQLite has no type for time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Refuse a datetime without a zone, store UTC."""
        if value is not None and value.tzinfo is None:
            raise ValueError("expected an aware datetime")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Add UTC to SQLite's naive datetimes."""
        # SQLite stores no zone and gives naive times back; PostgreSQL gives the session's zone
        return None if value is None else (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC))


def now() -> datetime:
    """Return the current time, UTC."""
    return datetime.now(UTC)


class Base(DeclarativeBase):
    """Base of the tables; constraints get predictable names, which migrations need."""

    metadata = MetaData(
        # SQLite cannot drop a constraint without a name, and alembic's batch mode needs one
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar = {datetime: Moment, dict[str, Any]: JSON, list[Any]: JSON, bytes: LargeBinary}


class Account(Base):
    """A person or group that uploads or moderates; only the name is stored."""

    __tablename__ = "accounts"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    created: Mapped[datetime] = mapped_column(default=now)


class Token(Base):
    """An API token; only the SHA-256 of its secret is kept."""

    __tablename__ = "tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    prefix: Mapped[str] = mapped_column(String(16))
    """First characters of the secret, which identify it in lists."""
    secret_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[Any]]
    """Any of ``submit``, ``moderate``, ``metrics``."""
    created: Mapped[datetime] = mapped_column(default=now)
    expires: Mapped[datetime | None]
    revoked: Mapped[datetime | None]
    last_used: Mapped[datetime | None]
    account: Mapped[Account] = relationship()


class Codec(Base):
    """A codec's name and its owner."""

    __tablename__ = "codecs"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    owner_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"), index=True)
    """Account that may submit results under the name; None for a name from an anonymous upload."""
    created: Mapped[datetime] = mapped_column(default=now)
    owner: Mapped[Account | None] = relationship()


class Dataset(Base):
    """One state of a dataset that submissions are checked against."""

    __tablename__ = "datasets"
    __table_args__ = (UniqueConstraint("name", "manifest_hash"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), index=True)
    manifest_hash: Mapped[str] = mapped_column(String(64))
    title: Mapped[str] = mapped_column(String(1000))
    licence: Mapped[str] = mapped_column(Text)
    homepage: Mapped[str | None] = mapped_column(Text)
    citation: Mapped[str | None] = mapped_column(Text)
    current: Mapped[bool] = mapped_column(default=True)
    """Whether new submissions may use this state."""
    counts: Mapped[dict[str, Any]]
    """Category to number of clips."""
    clips: Mapped[bytes] = mapped_column(deferred=True)
    """Compressed JSON: clip id to category."""
    added: Mapped[datetime] = mapped_column(default=now)


class Submission(Base):
    """One accepted file: a version of a codec's results. Never deleted; only its status changes."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("codec_id", "version"),
        CheckConstraint(f"status IN {STATUSES}", name="status"),
        Index(None, "status", "codec_id"),
    )

    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    """Random lower-case letters and digits, used in links."""
    codec_id: Mapped[int] = mapped_column(ForeignKey("codecs.id"), index=True)
    version: Mapped[int]
    """1 for the first submission of the codec, counted in the order of arrival."""
    file_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the zip, which is also its name in the storage folder."""
    # 32 bits end at 2 GB, and PostgreSQL's INTEGER has no more
    file_size: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[str] = mapped_column(String(16))
    account_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"), index=True)
    """Account that sent it; None for an anonymous upload."""
    submitter: Mapped[str] = mapped_column(String(200), default="")
    """Name in the file, as given."""
    contact: Mapped[str | None] = mapped_column(String(200))
    """Contact in the file, as given; shown to moderators only."""
    received: Mapped[datetime] = mapped_column(default=now)
    created: Mapped[str] = mapped_column(String(40))
    """``created`` of the file: the time of its last stage."""
    card: Mapped[dict[str, Any]]
    """The codec's card of this version."""
    document: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    """``submission.json`` without card and aggregates, but with ``aggregates.applications`` and, where a dataset has
    recording conditions, ``aggregates.slices``: datasets with provenance, metric versions, samples; with
    ``custom_results``, where a file has metrics of plug-ins."""
    custom: Mapped[bool] = mapped_column(default=False)
    """On datasets that are not of the benchmark: shown as custom, never ranked, never the current version."""
    condition: Mapped[str] = mapped_column(String(100), default="")
    """What it was made under (``loss:10``), never ranked, never the current version; '' for a clean one."""
    metrics: Mapped[dict[str, Any]]
    """Metric key to version of its definition."""
    clips: Mapped[int]
    ok: Mapped[int]
    failed: Mapped[int]
    complete: Mapped[bool]
    """No clip failed and no dataset was cut short; a submission that is not complete is shown as partial."""
    warnings: Mapped[list[Any]]
    """Plausibility warnings for the moderator, ``{kind, where, text}`` each."""
    notes: Mapped[list[Any]]
    """Notes of the check."""
    decided_by: Mapped[str | None] = mapped_column(String(200))
    decided: Mapped[datetime | None]
    reason: Mapped[str | None] = mapped_column(Text)
    """Why it was accepted, rejected or withdrawn; shown with the history."""
    codec: Mapped[Codec] = relationship()
    account: Mapped[Account | None] = relationship()
    results: Mapped[list[Result]] = relationship(back_populates="submission", order_by="Result.id")


NAMED = Submission.status.in_(PUBLIC) & Submission.custom.is_(False)
"""Public submissions on datasets of the benchmark, clean or under a condition."""
COUNTED = NAMED & (Submission.condition == "")
"""Submissions that the board, comparisons and a codec's page rest on: of these the clean ones."""


class Result(Base):
    """Aggregates of a submission for one category, over all of its datasets (``dataset`` is '') or on one of them."""

    __tablename__ = "results"
    __table_args__ = (UniqueConstraint("submission_id", "category", "dataset"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"))
    category: Mapped[str] = mapped_column(String(16))
    dataset: Mapped[str] = mapped_column(String(200), default="")
    datasets: Mapped[list[Any]]
    """Names of its datasets."""
    complete: Mapped[bool]
    clips: Mapped[int]
    ok: Mapped[int]
    failed: Mapped[int]
    seconds: Mapped[float]
    kbps: Mapped[float | None]
    tokens_per_second: Mapped[float | None]
    compression_ratio: Mapped[float | None]
    encode_rtf: Mapped[float | None]
    decode_rtf: Mapped[float | None]
    largest_lag: Mapped[int | None]
    clipped_samples: Mapped[int] = mapped_column(BigInteger)
    score: Mapped[float | None]
    low: Mapped[float | None]
    high: Mapped[float | None]
    metrics: Mapped[dict[str, Any]]
    """Metric key to the fields of :class:`~codec_superb.metrics.results.Estimate`."""
    submission: Mapped[Submission] = relationship(back_populates="results")


class ClipBlock(Base):
    """Clip rows of a submission on one dataset, as a Parquet file in the layout of ``clips.parquet`` (decision 8)."""

    __tablename__ = "clip_blocks"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    dataset: Mapped[str] = mapped_column(String(200), primary_key=True)
    rows: Mapped[int]
    data: Mapped[bytes] = mapped_column(deferred=True)
    """Parquet, compressed with Zstandard, sorted by clip id."""


class PublishedEncoder(Base):
    """Results that somebody else published of an encoder of MSEB, imported by a maintainer: shown apart from codecs."""

    __tablename__ = "published_encoders"

    id: Mapped[int] = mapped_column(primary_key=True)
    encoder: Mapped[str] = mapped_column(String(300), unique=True)
    """Name of the folder of its result files."""
    source: Mapped[str] = mapped_column(Text)
    """Where they come from, in the maintainer's words."""
    added: Mapped[datetime] = mapped_column(default=now)
    results: Mapped[list[Any]]
    """Fields of :class:`~codec_superb.applications.mseb.result_json.MsebRow` without the encoder, in order."""


class AuditEntry(Base):
    """One entry of the audit log: uploads, decisions, tokens, logins."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(default=now, index=True)
    actor: Mapped[str] = mapped_column(String(200))
    """Account name, ``anonymous``, or ``command line``."""
    action: Mapped[str] = mapped_column(String(64))
    """``submission.accepted``, ``submission.decided``, ``token.created`` …"""
    subject: Mapped[str] = mapped_column(String(200))
    detail: Mapped[dict[str, Any]]


class Revision(Base):
    """A table of one row: the number of changes of public data, by which every process detects outdated caches."""

    __tablename__ = "revision"

    id: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(default=0)
