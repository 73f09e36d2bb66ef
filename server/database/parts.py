"""Tables of submissions in parts: whose rows lie in which files, and files that came before what describes them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, String, true
from sqlalchemy.orm import Mapped, mapped_column

from codec_superb.server.database.base import Base, now


class SubmissionPart(Base):
    """A file that holds some of a submission's rows; one file may be a part of several submissions."""

    __tablename__ = "submission_parts"

    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    """From 1, in the order of the rows."""
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    """Of the file, which is also its name in the storage folder."""
    size: Mapped[int] = mapped_column(BigInteger)
    rows: Mapped[int]


class StagedPart(Base):
    """A file that an account has sent and that no submission of it has named yet: it expires, and no backup has it."""

    __tablename__ = "staged_parts"

    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    size: Mapped[int] = mapped_column(BigInteger)
    received: Mapped[datetime] = mapped_column(default=now, index=True)
    here: Mapped[bool] = mapped_column(default=False, server_default=true())
    """Whether the file is in its place, as far as this service knows: the row is made first."""
