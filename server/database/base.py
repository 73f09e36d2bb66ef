"""What all tables rest on: their metadata, their types and the time.

Times are UTC. Enumerations (status, category) are strings, with a check constraint where the set is closed, so that
SQLite and PostgreSQL store the same.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, DateTime, Dialect, LargeBinary, MetaData
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator


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
