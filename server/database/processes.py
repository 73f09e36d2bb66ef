"""Tables by which several processes on one database act as one service: counts, signs of life, checks, what fits.

Nothing in them is worth keeping: no backup has them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from codec_superb.server.database.base import Base, now

CHECK_STATES = ("queued", "running", "done")
TRANSIENT = frozenset({
    "rate_hits", "running_processes", "check_jobs", "schema_support", "staged_parts", "database_identity",
})  # fmt: skip
"""Names of these tables, and of that of parts that wait for their submission."""


class RateHit(Base):
    """One counted request, until its window has passed."""

    __tablename__ = "rate_hits"
    __table_args__ = (Index(None, "key", "at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    """Random: a sequence of 32 bits would end."""
    key: Mapped[str] = mapped_column(String(64))
    """Keyed hash of what is counted and of whom; no address and no token can be read from it."""
    at: Mapped[datetime]
    expires: Mapped[datetime] = mapped_column(index=True)


class RunningProcess(Base):
    """A process of the service or of its checks, and when it was last heard of."""

    __tablename__ = "running_processes"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    """Machine and process id, for maintainers."""
    serves: Mapped[bool]
    """Whether it answers requests."""
    checks: Mapped[int]
    """Uploads that it checks at the same time; 0 for none."""
    program: Mapped[str] = mapped_column(String(40))
    """Version of the program."""
    schema: Mapped[str] = mapped_column(String(32))
    """The newest schema that it knows."""
    key: Mapped[str] = mapped_column(String(64))
    """Keyed hash of nothing under its secret key: equal for processes whose sessions each other accepts."""
    files: Mapped[str] = mapped_column(String(64), default="", server_default="")
    """Identity of the folder or store that it sees; '' of an older program."""
    started: Mapped[datetime] = mapped_column(default=now)
    seen: Mapped[datetime] = mapped_column(default=now)


class CheckJob(Base):
    """An upload that waits for its check, is checked, or was checked and not yet answered."""

    __tablename__ = "check_jobs"
    __table_args__ = (CheckConstraint(f"state IN {CHECK_STATES}", name="state"), Index(None, "state", "created"))

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    """Random; also the name of the file among the uploads that are being received."""
    sender: Mapped[str] = mapped_column(String(64))
    """Keyed hash of the network that it came from; of an older program, of the account or address."""
    account_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"))
    """Account of the token; None without one."""
    token_id: Mapped[int | None] = mapped_column(ForeignKey("tokens.id"))
    """The token, which may be revoked meanwhile; None without one, and of an older program."""
    file_sha256: Mapped[str] = mapped_column(String(64))
    files: Mapped[str] = mapped_column(String(64), default="", server_default="")
    """Identity of the folder or store in which it waits: whoever sees another one leaves it; '' of an older program."""
    parts: Mapped[int] = mapped_column(default=0, server_default="0")
    """Parts that the file names, once it was looked at: what takes minutes waits behind its like; 0 for none."""
    state: Mapped[str] = mapped_column(String(16), default="queued")
    attempts: Mapped[int] = mapped_column(default=0)
    worker: Mapped[str] = mapped_column(String(32), default="")
    """Id of the process that has it; once that one is silent another takes it."""
    taken: Mapped[datetime | None]
    """When it was taken last."""
    seconds: Mapped[float | None]
    """How long the check took."""
    created: Mapped[datetime] = mapped_column(default=now)
    outcome: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """``receipt`` and ``new``, or ``status``, ``detail``, ``problems`` and ``headers`` of the error."""


class SchemaSupport(Base):
    """A table of one row: the oldest schema whose programs may still run on ``revision``, as its migration says."""

    __tablename__ = "schema_support"

    id: Mapped[int] = mapped_column(primary_key=True)
    revision: Mapped[str] = mapped_column(String(32))
    """The schema that this was said of."""
    oldest: Mapped[str] = mapped_column(String(32))


class DatabaseIdentity(Base):
    """A table of one row: the random name of this database, which its vault keeps too (``storage/binding.py``)."""

    __tablename__ = "database_identity"

    id: Mapped[int] = mapped_column(primary_key=True)
    identity: Mapped[str] = mapped_column(String(64))
