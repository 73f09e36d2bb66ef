"""Open the leaderboard's database for an ``admin`` command, after upgrading it to the newest schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from codec_superb.cli.server_options import missing_extra, private_files, server_settings

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

ACTOR = "command line"
"""Actor in the audit log."""


@contextmanager
def server_transaction(database: str | None, storage: Path | None, *, write: bool = False) -> Iterator[Session]:
    """Yield a session on the database that the options name; commit when the block ends, roll back when it raises.

    Raises MissingDependency where the extra is not installed, OperationError for a database or storage that cannot be
    used.
    """
    settings = server_settings(database, storage)
    try:
        from codec_superb.server.database.session import Database
        from codec_superb.server.operations.preparation import prepare
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    with private_files(), ExitStack() as stack:
        prepare(settings)
        opened = stack.enter_context(closing(Database(settings.database_url)))
        yield stack.enter_context(opened.transaction(write=write))
