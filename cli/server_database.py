"""Open the leaderboard's database for ``admin`` commands, upgraded to the newest schema; what several of them do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from codec_superb.cli.console import note, print_json, print_table
from codec_superb.cli.server_options import missing_extra, private_files, server_settings

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from codec_superb.server.database.session import Database
    from codec_superb.server.published.repository import Kind

ACTOR = "command line"
"""Actor in the audit log."""


@contextmanager
def server_database(database: str | None, storage: Path | None) -> Iterator[Database]:
    """Open the database that the options name, with the newest schema, until the block ends.

    Raises MissingDependency where the extra is not installed, OperationError for a database or storage that cannot be
    used.
    """
    settings = server_settings(database, storage)
    try:
        from codec_superb.server.database.session import Database
        from codec_superb.server.operations.preparation import prepare, usable
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    with private_files(), ExitStack() as stack:
        prepare(settings, say=note)  # a mistyped folder is an empty board, on which a token helps nobody
        opened = stack.enter_context(closing(Database(settings.database_url)))
        with usable(settings):
            yield opened


@contextmanager
def server_transaction(database: str | None, storage: Path | None, *, write: bool = False) -> Iterator[Session]:
    """Yield a session on that database; commit when the block ends, roll back when it raises."""
    with server_database(database, storage) as opened, opened.transaction(write=write) as session:
        yield session


def list_published(kind: Kind, database: str | None, storage: Path | None, *, as_json: bool) -> None:
    """Print name, number of values, source and date of all results of a kind that were imported."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.published.importing import NOUNS
        from codec_superb.server.published.repository import imported, values_of

        noun = NOUNS[kind][0]
        data = [
            {noun: row.name, "values": values_of(row), "source": row.source,
             "added": row.added.isoformat(timespec="seconds")}
            for row in imported(session, kind)
        ]  # fmt: skip
    if as_json:
        print_json(data)
        return
    head = (noun, "values", "source", "added")
    print_table("", head, [tuple(str(entry[name]) for name in head) for entry in data], numbers_from=len(head))


def remove_published(kind: Kind, name: str, database: str | None, storage: Path | None, *, as_json: bool) -> None:
    """Remove those of one encoder or model."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.published.importing import remove

        remove(session, kind, name, actor=ACTOR)
    if as_json:
        print_json({"removed": name})
    else:
        typer.echo(f"{name} is removed")
