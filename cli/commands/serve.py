"""``codec-superb serve``: run the leaderboard service."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from codec_superb.cli.server_options import (
    DatabaseOption,
    StorageOption,
    missing_extra,
    private_files,
    server_settings,
)

LOG_FORMAT_VARIABLE = "CODEC_SUPERB_SERVER_LOG_FORMAT"


def command(
    runs: Annotated[
        Path | None, typer.Argument(metavar="[RUNS]", help="Show this folder of runs, on this machine only.")
    ] = None,
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
    """Run the leaderboard, or with RUNS show a folder of runs on this machine, with sound; Ctrl-C or SIGTERM ends it.

    The leaderboard's database is SQLite in a folder of its own unless told otherwise. RUNS are shown with new ones as
    they come, and without uploads.
    """
    if runs is not None:
        told = {"--database": database, "--storage": storage, "--anonymous-uploads": anonymous_uploads}
        _refuse_with_runs(host, workers, [name for name, value in told.items() if value])
        raise typer.Exit(_show(runs, host, port, log_format))
    settings = server_settings(database, storage)
    try:
        from codec_superb.server.serving import serve
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    given = {"anonymous_uploads": anonymous_uploads, "log_format": log_format or _suited()}
    chosen = settings.model_copy(update={name: value for name, value in given.items() if value is not None})
    with private_files():
        code = serve(chosen, host, port, workers, say=_say)
    if code:
        raise typer.Exit(code)


def _refuse_with_runs(host: str, workers: int, options: list[str]) -> None:
    """Refuse what contradicts a board that only this machine sees."""
    try:
        from codec_superb.server.http.hosts import is_loopback
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    if not is_loopback(host):
        raise typer.BadParameter(
            f"local runs are shown on this machine only: expected --host 127.0.0.1, localhost or ::1, got {host}; "
            "to show results to others, pack them and submit them to a leaderboard"
        )
    if options or workers != 1:
        what = ", ".join([*options, *(["--workers"] if workers != 1 else [])])
        raise typer.BadParameter(f"{what}: of a leaderboard; a folder of runs is shown without it, leave it out")


def _show(runs: Path, host: str, port: int, log_format: str | None) -> int:
    """Show a folder of runs from a database and a storage folder that end with the service."""
    with tempfile.TemporaryDirectory(prefix="codec-superb-runs-") as storage:
        settings = server_settings(None, Path(storage))
        try:
            from codec_superb.cli.local_runs import RunsOnDisk
            from codec_superb.server.serving import serve
        except ModuleNotFoundError as error:
            raise missing_extra(error) from error
        form = log_format or _suited() or settings.log_format
        # it takes no upload that could fill a disk
        own = {"database": None, "anonymous_uploads": False, "log_format": form, "free_bytes": 0}
        return serve(settings.model_copy(update=own), host, port, say=_say, runs=RunsOnDisk(runs))


def _suited() -> str | None:
    """Return ``text`` where standard error is a terminal and no format was chosen."""
    return "text" if sys.stderr.isatty() and LOG_FORMAT_VARIABLE not in os.environ else None


def _say(line: str) -> None:
    """Print and flush: a program that waits for the address may read it through a pipe."""
    sys.stdout.write(line + "\n")
    # Python buffers the standard output of a pipe by blocks
    sys.stdout.flush()
