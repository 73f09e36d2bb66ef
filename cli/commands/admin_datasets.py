"""``codec-superb admin datasets``: the datasets that submissions are checked against."""

from __future__ import annotations

from typing import Annotated

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.dataset_facts import facts_of_prepared
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption, server_settings

app = typer.Typer(help="Datasets that submissions are checked against.", no_args_is_help=True)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="A dataset that is prepared or indexed on this machine.")],
    metrics: Annotated[
        bool, typer.Option("--metrics/--no-metrics", help="Decode every clip, and find where metrics are undefined.")
    ] = True,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the state of a dataset on this machine the one that new submissions must have.

    Every clip is decoded for its length, its sound and the metrics that are undefined by it: some minutes for an hour
    of sound. Without metrics the headers of the files are read alone.
    """
    server_settings(database, storage)  # first: reading the dataset takes long, wrong settings should show before
    facts = facts_of_prepared(name, metrics=metrics)
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.datasets.service import add as add_dataset

        new = add_dataset(session, facts)
    if as_json:
        clips, unknown = len(facts.known.clips), facts.known.missing_facts()
        print_json(
            {
                "dataset": name,
                "manifest_hash": facts.known.manifest_hash,
                "clips": clips,
                "not_known": unknown,
                "changed": new,
            }
        )
        return
    state = "is now what submissions are checked against" if new else "was so before"
    typer.echo(f"{name}: {len(facts.known.clips)} clips, manifest {facts.known.manifest_hash} {state}")


@app.command("list")
def list_known(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List the datasets of the leaderboard with all their states, and what is not known of their clips.

    Add a dataset again where something is not known: submissions cannot be compared with it.
    """
    with server_transaction(database, storage) as session:
        from sqlalchemy import select
        from sqlalchemy.orm import undefer

        from codec_superb.server.database.models import Dataset
        from codec_superb.server.datasets.service import known_state

        statement = select(Dataset).order_by(Dataset.name, Dataset.added).options(undefer(Dataset.clips))
        data = [
            {"dataset": row.name, "manifest_hash": row.manifest_hash, "clips": sum(row.counts.values()),
             "not_known": known_state(row).missing_facts(), "current": row.current,
             "added": row.added.isoformat(timespec="seconds")}
            for row in session.scalars(statement)
        ]  # fmt: skip
    if as_json:
        print_json(data)
        return
    head = ("dataset", "manifest", "clips", "not known", "current", "added")
    cells = [
        (str(e["dataset"]), str(e["manifest_hash"]), str(e["clips"]), str(e["not_known"]),
         "yes" if e["current"] else "no", str(e["added"]))
        for e in data
    ]  # fmt: skip
    print_table("", head, cells, numbers_from=len(head))
