"""``codec-superb check-worker``: check the uploads of a leaderboard that others receive."""

from __future__ import annotations

import signal
import threading
from contextlib import closing
from typing import Annotated

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_options import (
    DatabaseOption,
    StorageOption,
    missing_extra,
    private_files,
    server_settings,
)
from codec_superb.web.text import count


def command(
    checks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Uploads checked at the same time.",
            show_default="$CODEC_SUPERB_SERVER_CHECK_WORKERS, at least 1",
        ),
    ] = None,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the uploads of a leaderboard on PostgreSQL, until Ctrl-C or SIGTERM: a process beside its services."""
    settings = server_settings(database, storage)
    try:
        from codec_superb.server.database.session import Database
        from codec_superb.server.ingest.checker import Checker
        from codec_superb.server.ingest.pool import Pool
        from codec_superb.server.operations.heartbeat import Heartbeat
        from codec_superb.server.operations.preparation import prepare, usable
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    if not settings.shared:
        raise typer.BadParameter("expected a PostgreSQL database; with SQLite the service itself checks its uploads")
    settings = settings.model_copy(update={"check_workers": checks or max(1, settings.check_workers)})
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with private_files(), closing(Database(settings.database_url)) as opened, closing(Checker(settings)) as checker:
        prepare(settings)
        heartbeat = Heartbeat(settings, serves=False, checks=settings.check_workers)
        pool = Pool(opened, settings, checker, heartbeat)
        with usable(settings):
            heartbeat.start()
        pool.start()
        note(f"{heartbeat.name} checks {count(settings.check_workers, 'upload')} at a time")
        stop.wait()
        pool.stop(settings.shutdown_seconds)
        heartbeat.stop()
    if as_json:
        print_json({"checked": pool.checked})
    else:
        typer.echo(f"{count(pool.checked, 'upload')} checked")
