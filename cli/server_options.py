"""Options of the commands that work on the leaderboard's own database and files: ``serve`` and ``admin``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.base_codec.errors import MissingDependency
from codec_superb.missing_package import not_installed

if TYPE_CHECKING:
    from codec_superb.server.settings import Settings


DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="SQLAlchemy URL: sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME.",
        show_default="$CODEC_SUPERB_SERVER_DATABASE, else leaderboard.sqlite in the storage folder",
    ),
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Put results in place of those of another source, which are lost.")
]
StorageOption = Annotated[
    Path | None,
    typer.Option(
        "--storage",
        metavar="DIR",
        help="Folder of accepted files, uploads in progress and the secret key.",
        show_default="$CODEC_SUPERB_SERVER_STORAGE, else server in CODEC_SUPERB_HOME",
    ),
]


def server_settings(database: str | None = None, storage: Path | None = None) -> Settings:
    """Return the service's settings from the environment; options of the command line take precedence.

    Raises MissingDependency with the install command where the extra is not installed, typer.BadParameter for an
    invalid or unknown environment variable.
    """
    try:
        from pydantic import ValidationError

        from codec_superb.server.settings import Settings, faults, unknown_variables
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    if unknown := unknown_variables():
        raise typer.BadParameter(f"settings of the service: {'; '.join(unknown)}")
    given = {"database": database, "storage": None if storage is None else storage.absolute()}
    try:
        return Settings.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise typer.BadParameter(f"settings of the service: {'; '.join(faults(error))}") from error


@contextmanager
def private_files() -> Iterator[None]:
    """Let what the command creates be readable by this user alone (umask 077) until the block ends."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def missing_extra(error: ModuleNotFoundError) -> Exception:
    """Return the error for a failed import of the service: for a missing package, one that names the extra."""
    if (error.name or "codec_superb").partition(".")[0] == "codec_superb":
        return error
    return MissingDependency(not_installed("the leaderboard service", error.name, extra="server"))
