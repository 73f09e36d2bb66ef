"""Published encoders in the database: what maintainers imported."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.server.database.models import PublishedEncoder


def imported(session: Session) -> Sequence[PublishedEncoder]:
    """List them by name."""
    return session.scalars(select(PublishedEncoder).order_by(PublishedEncoder.encoder)).all()


def by_name(session: Session, encoder: str) -> PublishedEncoder | None:
    """Find one."""
    return session.scalars(select(PublishedEncoder).where(PublishedEncoder.encoder == encoder)).one_or_none()


def rows_of(encoder: PublishedEncoder) -> list[MsebRow]:
    """Return its rows."""
    return [MsebRow(encoder.encoder, *row) for row in encoder.results]
