"""What is wrong with a database that does not do what it was asked, told apart by its SQLSTATE."""

from __future__ import annotations

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

DATABASE_ERRORS = (OperationalError, InterfaceError, PoolTimeout)
"""SQLAlchemy's errors when the database is unreachable, full, takes no changes, or has no free connection."""
DISK_FULL, READ_ONLY, NOT_ALLOWED = "53100", "25006", "42501"
_WORDS = {
    DISK_FULL: "the database's disk is full, so that it can store nothing",
    READ_ONLY: "the database takes no changes right now (it is read-only)",
    NOT_ALLOWED: "the database's user lacks a right, which its maintainers have to grant",
}
UNKNOWN = "what was sent may have been stored, or not: look, or send it again; the same file is not stored twice"
"""What is true of a change whose answer never came: the commit may have been the last that the database did."""


def state_of(error: BaseException) -> str:
    """Return the SQLSTATE of a PostgreSQL error; '' of any other."""
    return getattr(getattr(error, "orig", None), "sqlstate", None) or ""


def words_of(error: BaseException) -> str:
    """Say what is wrong, as the beginning of a sentence."""
    return _WORDS.get(state_of(error), "the database does not answer right now")


def is_full(error: BaseException) -> bool:
    """Whether a transaction was rolled back because the database's disk has no room."""
    name = getattr(getattr(error, "orig", None), "sqlite_errorname", "")
    return state_of(error) == DISK_FULL or name == "SQLITE_FULL"


def tell_what_is_no_fault(engine: Engine) -> None:
    """Have an engine raise OperationalError where the database takes no changes, or not this user's.

    psycopg has an InternalError for the first, and a ProgrammingError for the second.
    """
    event.listen(engine, "handle_error", _as_operational)


def _as_operational(context: ExceptionContext) -> None:
    original = context.original_exception
    if getattr(original, "sqlstate", None) in {READ_ONLY, NOT_ALLOWED}:
        raise OperationalError(context.statement, None, original, hide_parameters=True)
