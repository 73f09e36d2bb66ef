"""The tables as SQLAlchemy models. Only migrations create the schema; a test compares them with these classes.

Tables of verification, of listening tests, of the board's history and of what processes share have modules of their
own, imported here so that the metadata is whole.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    String,
    Text,
    UniqueConstraint,
    case,
    exists,
    false,
    or_,
)
from sqlalchemy.orm import InstrumentedAttribute, Mapped, mapped_column, relationship

from codec_superb.server.database.base import Base, now
from codec_superb.server.database.history import BoardChange
from codec_superb.server.database.listening import ListeningTest, Participant, Rating, Stimulus
from codec_superb.server.database.parts import StagedPart, SubmissionPart
from codec_superb.server.database.processes import CheckJob, DatabaseIdentity, RateHit, RunningProcess, SchemaSupport
from codec_superb.server.database.verification import (
    Attestation,
    PrivateDataset,
    PrivateResult,
    VerificationJob,
    VerificationKey,
)

__all__ = [
    "Account", "Attestation", "AuditEntry", "Base", "BoardChange", "CheckJob", "ClipBlock", "Codec", "DatabaseIdentity",
    "Dataset", "Family", "ListeningTest", "Participant", "PrivateDataset", "PrivateResult", "PublishedResults",
    "RateHit", "Rating", "Result", "Revision", "RunningProcess", "SchemaSupport", "StagedPart", "Stimulus",
    "Submission", "SubmissionPart", "Token", "VerificationJob", "VerificationKey", "now",
]  # fmt: skip

STATUSES = ("pending", "held", "self-reported", "verified", "withdrawn")
"""``pending`` came without a token and ``held`` with warnings: both wait for a moderator."""
WAITING = ("pending", "held")
PUBLIC = ("self-reported", "verified")
"""Statuses whose results anybody may see."""


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
    """Account that may submit results under the name; None for one of the catalogue, or from an anonymous upload."""
    skeleton: Mapped[str | None] = mapped_column(String(800), unique=True)
    """The name with confusable letters folded (Unicode TR39); None for a name of the catalogue, and for one that only
    anonymous uploads have."""
    title_skeleton: Mapped[str | None] = mapped_column(String(800), unique=True)
    """The same of the title of its newest version; None for a name of the catalogue, and where nothing was public."""
    created: Mapped[datetime] = mapped_column(default=now)
    owner: Mapped[Account | None] = relationship()


class Family(Base):
    """A family of codecs, a curve in the charts, and the account that opened it."""

    __tablename__ = "families"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    skeleton: Mapped[str] = mapped_column(String(800), unique=True)
    """The name with confusable letters folded (Unicode TR39): two families must not look the same."""
    owner_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"), index=True)
    """Account whose codecs may join it; None for a family of the catalogue, or one that nobody owns yet."""
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
    behind: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Under a name that nobody owns: whether another one stands, of verified ones or of self-reported ones, under the
    same condition."""
    place: Mapped[int] = mapped_column(default=0, server_default="0")
    """Of these its place in their order, 0 for the one that stands: shown where those before it lack something.
    Negative under a condition of a self-reported one in front of verified ones, for which clips were not asked."""
    metrics: Mapped[dict[str, Any]]
    """Metric key to version of its definition."""
    clips: Mapped[int]
    ok: Mapped[int]
    failed: Mapped[int]
    complete: Mapped[bool]
    """No clip failed and no dataset was cut short; a submission that is not complete is shown as partial."""
    warnings: Mapped[list[Any]] = mapped_column(deferred=True)
    """:class:`Plausibility warnings <codec_superb.server.moderation.kept_warnings.PlausibilityWarning>` for the
    moderator; rows of older programs may have tens of thousands."""
    notes: Mapped[list[Any]]
    """Notes of the check."""
    public_since: Mapped[datetime | None]
    """When anybody could first see it; None for one that never was public, whose name is shown to moderators alone."""
    decided_by: Mapped[str | None] = mapped_column(String(200))
    decided: Mapped[datetime | None]
    reason: Mapped[str | None] = mapped_column(Text)
    """Why it was accepted, rejected or withdrawn; shown with the history."""
    codec: Mapped[Codec] = relationship()
    account: Mapped[Account | None] = relationship()
    results: Mapped[list[Result]] = relationship(back_populates="submission", order_by="Result.id")

    @property
    def sender(self) -> str:
        """Name of the account that sent it, or ``anonymous``: who says so, whatever the file says."""
        return self.account.name if self.account is not None else "anonymous"

    @property
    def voter(self) -> str:
        """Who counts once where what most have is chosen; in the order of these texts the oldest account is first."""
        return f"{self.account.created.isoformat() if self.account else ''} {self.sender}"

    @property
    def told_reason(self) -> str:
        """The reason as visitors read it: who takes back results under a name of others has no words on its page."""
        own = self.status == "withdrawn" and self.account is not None and self.decided_by == self.account.name
        if own and self.codec.owner_id != self.account_id:
            return "by its submitter"
        return self.reason or ""


NAMED = Submission.status.in_(PUBLIC) & Submission.custom.is_(False)
"""Public submissions on datasets of the benchmark, clean or under a condition."""
COUNTED = NAMED & (Submission.condition == "")
"""Submissions that the board, comparisons and a codec's page rest on: of these the clean ones."""
EVER_NAMED = Submission.public_since.is_not(None) & Submission.custom.is_(False)
"""Those on datasets of the benchmark, and such as were among them and are held or withdrawn since."""
_BY_ITSELF = exists().where(Account.id == Submission.account_id, Account.name == Submission.decided_by)
STOOD = Submission.public_since.is_not(None) & or_(
    Submission.status.in_(PUBLIC),
    (Submission.status == "withdrawn") & _BY_ITSELF,
)
"""Those that are public, or were until their own account took them back: no moderator found anything against them."""
SHOWN = Submission.public_since.is_not(None) & Submission.status.not_in(WAITING)
"""Submissions of a codec's history: public ones, and those that were public and are withdrawn."""


def standing(
    status: InstrumentedAttribute[str],
    behind: InstrumentedAttribute[bool],
    place: InstrumentedAttribute[int],
    nobodys: ColumnElement[bool],
) -> tuple[ColumnElement[Any], ...]:
    """Order a codec's public submissions, joined with the codec, such that the last one stands for it: the newest.

    Under a name that nobody owns, as those of the catalogue, verified results stand in front of whatever came later,
    and of these the one that is not ``behind``, then by their ``place``, as among those that nobody ran again; partial
    ones not in front of complete ones that nobody can run: under a condition clips fail, and all count alike.
    ``status``, ``behind``, ``place``, and whether the name is ``nobodys``, are those of now, or of a moment.
    """
    run_again = nobodys & (status == "verified")
    whole = Submission.complete | (Submission.condition != "")
    first = case(
        (nobodys & (status == "self-reported") & (place < 0), 6),
        (run_again & whole & behind.is_(False), 5),
        (run_again & whole, 4),
        (nobodys & Submission.complete & (Submission.condition == "") & behind.is_(False), 3),
        (run_again & behind.is_(False), 2),
        (run_again, 1),
        else_=0,
    )
    return first, case((nobodys, -place), else_=0), Submission.version.expression


STANDING = standing(Submission.status, Submission.behind, Submission.place, Codec.owner_id.is_(None))
"""The order of now."""


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


class PublishedResults(Base):
    """Results that somebody else published of an encoder or a model, imported by a maintainer: apart from codecs."""

    __tablename__ = "published_results"
    __table_args__ = (UniqueConstraint("kind", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    """:data:`~codec_superb.server.published.repository.Kind`."""
    name: Mapped[str] = mapped_column(String(300))
    """Of the encoder or the model: that of the folder of its result files."""
    source: Mapped[str] = mapped_column(Text)
    """Where they come from, in the maintainer's words."""
    added: Mapped[datetime] = mapped_column(default=now)
    results: Mapped[list[Any]]
    """Fields, in order, of :class:`~codec_superb.applications.mseb.result_json.MsebRow` without the encoder, or of
    :class:`~codec_superb.applications.understanding.conversion.published.PublishedFigure` without model and source; or
    one :class:`~codec_superb.applications.xares.result.XaresResult`.
    """


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
