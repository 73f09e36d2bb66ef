"""``codec-superb admin verify``: the queue of ``verify-worker``, and attestations that come as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.cli.server_database import ACTOR, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption
from codec_superb.web.text import count

app = typer.Typer(help="Have submissions run again, and take what maintainers signed.", no_args_is_help=True)


@app.command("enqueue")
def enqueue(
    submissions: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Ids of submissions.")] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="All self-reported ones that were not queued since the last decision about them."),
    ] = False,
    clips: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Clips of each dataset, 0 for all; fewer than the default can hold a row, and verify none.",
            show_default="as many as catch 5 % with 99 %",
        ),
    ] = None,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Queue submissions for `verify-worker`; one that waits already is not queued twice."""
    if bool(submissions) == every or (every and clips is not None):
        raise typer.BadParameter("expected ID…, with --clips if wanted, or --all")
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.verification.candidates import enqueue_unverified
        from codec_superb.server.verification.jobs import enqueue_by_hand

        if every:
            queued = enqueue_unverified(session)
        else:
            queued = len([enqueue_by_hand(session, entry, clips, actor=ACTOR) for entry in submissions or ()])
    if as_json:
        print_json({"queued": queued})
    else:
        typer.echo(f"{count(queued, 'job')} queued")


@app.command("list")
def list_jobs(
    limit: Annotated[int, typer.Option(min=1, help="Only this many, the newest.")] = 50,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs with their outcomes, the newest first."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.verification.jobs import all_jobs

        found: list[dict[str, Any]] = [
            {"id": job.id, "submission": job.submission_id, "kind": job.kind, "state": job.state,
             "outcome": job.outcome, "attempts": job.attempts, "worker": job.worker, "message": job.message,
             "created": job.created.isoformat(timespec="seconds")}
            for job in all_jobs(session, limit=limit)
        ]  # fmt: skip
    if as_json:
        print_json(found)
        return
    head = ("id", "submission", "kind", "state", "outcome", "attempts", "message")
    print_table("", head, [tuple(str(e[name]) for name in head) for e in found], numbers_from=len(head), folds=True)


@app.command("add")
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="Signed attestation.")],
    submission: Annotated[
        str | None, typer.Option(metavar="ID", help="Of which it is, where a download was verified.")
    ] = None,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an attestation, as the API takes one, of up to 4 MB."""
    from codec_superb.pipeline.verification.attestation import bytes_of

    data = bytes_of(file)
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.verification.attestations import accept, read

        row = accept(session, read(data), submission)
        told = {"submission": row.submission_id, "agrees": row.agrees, "sha256": row.sha256}
    if as_json:
        print_json(told)
    else:
        typer.echo(f"{plain_path(file)}: {'agrees' if row.agrees else 'differs'}, submission {row.submission_id}")
