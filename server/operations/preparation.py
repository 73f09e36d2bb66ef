"""What must be there before the service or a maintainer's command works: storage, a database, the newest schema."""

from __future__ import annotations

import tempfile

from alembic.util import CommandError
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from codec_superb.server.database.migrate import upgrade
from codec_superb.server.errors import OperationError
from codec_superb.server.settings import Settings

DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql+psycopg")
_EXPECTED = "expected a database URL, sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME"


def prepare(settings: Settings) -> str:
    """Make the storage folders and bring the schema up to date; safe in several processes at once.

    Returns the database and the storage in words, without password. Raises OperationError with one sentence on what
    is wrong and what to do.
    """
    database = check_url(settings.database_url)
    make_storage(settings)
    try:
        upgrade(settings.database_url)
    except DBAPIError as error:
        raise unusable(settings, error) from error
    except CommandError as error:
        raise OperationError(
            f"the schema of {database} is of another version than this program knows ({error}); "
            "install the version of codec-superb that made it, or a newer one"
        ) from error
    except OSError as error:
        raise OperationError(
            f"cannot use the database {database}: {error.strerror or error}; name another with --database"
        ) from error
    return f"database {database}, storage {settings.storage}"


def check_url(url: str) -> str:
    """Return the URL without its password. Raises OperationError for one that the service cannot use."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:  # it cannot be shown: where its password would be is not known
        raise OperationError(f"{_EXPECTED}, got something else") from error
    hidden = parsed.render_as_string(hide_password=True)
    if parsed.drivername not in DRIVERS:
        hint = "; the driver is part of it: postgresql+psycopg://" if parsed.drivername == "postgresql" else ""
        raise OperationError(f"{_EXPECTED}, got {hidden}{hint}")
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise OperationError(f"expected a database that lasts, sqlite:///FILE, got {hidden}")
    return hidden


def make_storage(settings: Settings) -> None:
    """Make the folders and try to write a file. Raises OperationError where that is not allowed."""
    try:
        for folder in (settings.storage, settings.files, settings.incoming):
            folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=settings.storage).close()
    except OSError as error:
        raise OperationError(
            f"cannot write the storage folder {settings.storage}: {error.strerror or error}; "
            "name another with --storage"
        ) from error


def unusable(settings: Settings, error: DBAPIError) -> OperationError:
    """Say in one sentence that the database does not work, in its own words."""
    reason = str(error.orig).strip().splitlines()[0]
    database = make_url(settings.database_url).render_as_string(hide_password=True)
    return OperationError(f"cannot use the database {database}: {reason}; see that it runs, or name another")
