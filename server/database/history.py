"""The table of what became public and what was taken back: from it the board of any revision is told."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, false
from sqlalchemy.orm import Mapped, mapped_column

from codec_superb.server.database.base import Base, now


class BoardChange(Base):
    """A submission's status and place from a revision on. Rows are only added."""

    __tablename__ = "board_changes"

    revision: Mapped[int] = mapped_column(primary_key=True)
    """Number of the public data once the change was made."""
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id"), primary_key=True, index=True)
    status: Mapped[str] = mapped_column(String(16))
    behind: Mapped[bool] = mapped_column(default=False, server_default=false())
    """As the submission's: a state that somebody cites keeps what stood then."""
    place: Mapped[int] = mapped_column(default=0, server_default="0")
    """As the submission's."""
    at: Mapped[datetime] = mapped_column(default=now)
