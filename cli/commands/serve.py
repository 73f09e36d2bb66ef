"""``codec-superb serve``: run the leaderboard service."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Literal

import typer

from codec_superb.cli.server_options import DatabaseOption, StorageOption, missing_extra, server_settings

LOG_FORMAT_VARIABLE = "CODEC_SUPERB_SERVER_LOG_FORMAT"


def command(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for one that is free.")] = 8000,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer requests.")] = 1,
    anonymous_uploads: Annotated[
        bool | None,
        typer.Option(
            "--anonymous-uploads/--no-anonymous-uploads",
            help="Take uploads without a token into the moderation queue.",
            show_default="$CODEC_SUPERB_SERVER_ANONYMOUS_UPLOADS, else not",
        ),
    ] = None,
    log_format: Annotated[
        Literal["json", "text"] | None,
        typer.Option(help="A line of JSON per event, or text.", show_default="text on a terminal, else json"),
    ] = None,
) -> None:
    """Run the leaderboard: SQLite in a folder of its own unless told otherwise; Ctrl-C or SIGTERM ends it well."""
    settings = server_settings(database, storage)
    try:
        from codec_superb.server.serving import serve
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    given = {"anonymous_uploads": anonymous_uploads, "log_format": log_format or _suited()}
    chosen = settings.model_copy(update={name: value for name, value in given.items() if value is not None})
    code = serve(chosen, host, port, workers, say=_say)
    if code:
        raise typer.Exit(code)


def _suited() -> str | None:
    """Return ``text`` where standard error is a terminal and no format was chosen."""
    return "text" if sys.stderr.isatty() and LOG_FORMAT_VARIABLE not in os.environ else None


def _say(line: str) -> None:
    """Print and flush: a program that waits for the address may read it through a pipe."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
