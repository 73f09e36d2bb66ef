"""Prepare the service's storage folders and database schema, for ``serve`` and the ``admin`` commands."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic.util import CommandError
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError

from codec_superb.server.database.faults import NOT_ALLOWED, state_of
from codec_superb.server.database.migrate import runs_on, upgrade
from codec_superb.server.database.session import make_engine
from codec_superb.server.errors import OperationError
from codec_superb.server.operations.private_files import PRIVATE_FOLDER, mend_modes
from codec_superb.server.people.secret import secret_key
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault_layout import LOCK

DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql+psycopg")
OUR_FAULTS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
"""Errors of a database that say nothing of it, but of the statement that it was given."""
_EXPECTED = "expected a database URL, sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME"


def prepare(settings: Settings, say: Callable[[str], None] = lambda _: None) -> str:
    """Create the storage folders and upgrade the schema; safe in several processes at once.

    Returns a description of database and storage without the password, and says so where a new board was made. Raises
    OperationError with one sentence on what is wrong and what to do.
    """
    database = check_url(settings.database_url)
    make_storage(settings)
    where = f"database {database}, storage {settings.storage}"
    try:
        if upgrade(settings.database_url):
            say(f"nothing was here: this is a new, empty board ({where})")
    except DBAPIError as error:
        raise unusable(settings, error) from error
    except CommandError as error:
        if not _may_run(settings):
            raise OperationError(
                f"expected a database schema that this program knows, got another one in {database} ({error}); "
                "install the version of codec-superb that created it, or a newer one"
            ) from error
    except OSError as error:
        raise OperationError(
            f"cannot use the database {database}: {error.strerror or error}; name another with --database"
        ) from error
    mend_modes(settings)
    _make_key(settings)
    return where


def _may_run(settings: Settings) -> bool:
    """Whether a newer program has upgraded the schema to one that this program may still serve."""
    engine = make_engine(settings.database_url)
    try:
        with engine.connect() as connection:
            return runs_on(connection)
    finally:
        engine.dispose()


def check_url(url: str) -> str:
    """Return the URL without its password. Raises OperationError for one that the service cannot use."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:  # the text is not shown: it may contain a password, which cannot be located
        raise OperationError(f"{_EXPECTED}, got something else") from error
    hidden = parsed.render_as_string(hide_password=True)
    if parsed.drivername not in DRIVERS:
        hint = "; the driver is part of it: postgresql+psycopg://" if parsed.drivername == "postgresql" else ""
        raise OperationError(f"{_EXPECTED}, got {hidden}{hint}")
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise OperationError(f"expected a database that lasts, sqlite:///FILE, got {hidden}")
    return hidden


def make_storage(settings: Settings) -> None:
    """Create the folders and test that they and the lock can be used. Raises OperationError where they cannot."""
    try:
        for folder in (settings.storage, settings.files, settings.incoming):
            place = folder
            folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            next(folder.iterdir(), None)
        expect_renaming(settings)
        place = settings.storage / LOCK
        if place.exists():
            place.open("a+").close()
    except OSError as error:
        what = "file" if place.name == LOCK else "folder"
        raise OperationError(
            f"cannot write the storage {what} {place}: {error.strerror or error}; "
            "give it to the user of the service, or name another folder with --storage"
        ) from error


def expect_renaming(settings: Settings) -> None:
    """Expect that an upload can be renamed to its place: rename(2) goes over no mount point, not even of one disk.

    Raises OperationError where there is one, OSError for what else is wrong.
    """
    with tempfile.NamedTemporaryFile(dir=settings.incoming, delete=False) as probe:
        place = Path(probe.name)
    try:
        place.rename(settings.files / place.name)
    except FileNotFoundError:  # another process took it for an upload that was left behind, and swept it
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        raise OperationError(
            f"expected {settings.incoming} and {settings.files} in one file system, got a mount point between them; "
            f"mount {settings.storage} itself, or name another folder with --storage"
        ) from error
    finally:
        for folder in (settings.incoming, settings.files):
            (folder / place.name).unlink(missing_ok=True)


def _make_key(settings: Settings) -> None:
    """Create the key now, and not with the first login, when the disk may be full."""
    try:
        secret_key(settings)
    except OSError as error:
        raise OperationError(f"cannot store the key in {settings.storage}: {error.strerror or error}") from error
    except ValueError as error:
        raise OperationError(str(error)) from error


@contextmanager
def usable(settings: Settings) -> Iterator[None]:
    """Raise OperationError for what the block meets of a database that is full, read-only, damaged or away."""
    try:
        yield
    except OUR_FAULTS:
        raise
    except DBAPIError as error:
        raise unusable(settings, error) from error


def unusable(settings: Settings, error: DBAPIError) -> OperationError:
    """Return the error for a database that does not work, with the database's own message."""
    # of the driver: SQLAlchemy's text adds the statement and a link
    reason = str(error.orig).strip().splitlines()[0]
    url = make_url(settings.database_url)
    advice = "check that it runs, has room and can be written, or name another"
    if state_of(error) == NOT_ALLOWED:
        advice = (
            f"as its administrator give {url.username} what it needs: ALTER DATABASE {url.database} OWNER TO "
            f"{url.username}, and the same for each table of codec-superb that another user made"
        )
    return OperationError(f"cannot use the database {url.render_as_string(hide_password=True)}: {reason}; {advice}")
