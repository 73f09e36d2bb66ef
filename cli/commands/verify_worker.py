"""``codec-superb verify-worker``: run submissions of a leaderboard again, one job after the other."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import Annotated

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import DeviceOption, JsonOption, WorkersOption
from codec_superb.cli.server_options import DatabaseOption, StorageOption, missing_extra, server_settings
from codec_superb.web.text import count


def command(
    once: Annotated[bool, typer.Option("--once", help="End when no job waits, as a timer calls it.")] = False,
    device: DeviceOption = "auto",
    workers: WorkersOption = None,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run submissions of a leaderboard again and sign what comes out: a process beside the service."""
    settings = server_settings(database, storage)
    try:
        from codec_superb.cli.verification.handlers import HANDLERS
        from codec_superb.cli.verification.private_job import FOLDER
        from codec_superb.cli.verification.worker import Context, work
        from codec_superb.pipeline.private_sets.scratch import remove_leftovers
        from codec_superb.server.database.session import Database
        from codec_superb.server.operations.preparation import prepare, usable
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    prepare(settings)
    _prepare_builtin()
    remove_leftovers(settings.storage / FOLDER)  # of a worker that was killed in a private run
    # told to stop, it puts its job back, as for Ctrl-C
    # systemd and Kubernetes stop a process by SIGTERM, on which Python ends at once, without any finally
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with usable(settings), closing(Database(settings.database_url)) as opened:
        context = Context(opened, settings, device, workers)
        note(f"{context.worker} waits for jobs: {', '.join(HANDLERS)}")
        done = work(context, HANDLERS, once=once)
    if as_json:
        print_json({"jobs": done})
    else:
        typer.echo(f"{count(done, 'job')} done")


def _prepare_builtin() -> None:
    """Have the dataset here that every board knows; others their maintainers prepare."""
    from codec_superb.cli.console import TerminalProgress
    from codec_superb.cli.selection import prepare_fetched
    from codec_superb.data_manifests.errors import DatasetError
    from codec_superb.server.datasets.service import BUILTIN

    for name in BUILTIN:
        try:
            if not _is_here(name):
                with TerminalProgress() as progress:
                    prepare_fetched([name], progress)
        except (DatasetError, OSError) as error:
            note(f"{name}: {error}")


def _is_here(dataset: str) -> bool:
    """Whether a dataset is prepared. Raises DatasetError for one that is damaged."""
    from codec_superb.data_manifests.dataset import open_dataset
    from codec_superb.data_manifests.errors import DatasetNotPrepared

    try:
        open_dataset(dataset)
    except DatasetNotPrepared:
        return False
    return True
