"""``codec-superb admin private``: datasets whose clips nobody but the maintainers has."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption, server_settings
from codec_superb.web.text import MISSING

if TYPE_CHECKING:
    from codec_superb.server.database.models import PrivateDataset

app = typer.Typer(help="Datasets whose clips nobody but the maintainers has.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Public name of the private dataset.")]


@app.command("add")
def add(
    name: NameArgument,
    path: Annotated[str, typer.Option("--path", metavar="FOLDER|MANIFEST", help="The clips; never shown.")],
    compared_with: Annotated[
        str, typer.Option("--compared-with", metavar="DATASET", help="Public dataset of the board to compare with.")
    ],
    rotates: Annotated[
        datetime | None,
        typer.Option("--rotates", formats=["%Y-%m-%d"], help="When another takes its place; shown, nothing happens."),
    ] = None,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register a private dataset: its size, duration and a commitment to its content become public."""
    from codec_superb.pipeline.private_sets.commitment import private_facts

    server_settings(database, storage)  # first: reading the dataset takes long, wrong settings should show before
    spec = str(Path(path).expanduser().absolute()) if Path(path).expanduser().exists() else path
    facts = private_facts(spec)
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.private_sets import registry

        made = registry.add(
            session, name, spec, counts=facts.counts, seconds=facts.seconds, sounds=facts.sounds,
            salt=facts.salt, manifest_hash=facts.manifest_hash, commitment=facts.commitment,
            compared_with=compared_with, rotates=rotates and rotates.replace(tzinfo=UTC), actor=ACTOR,
        )  # fmt: skip
        told = _public(made)
    if as_json:
        print_json(told)
    else:
        typer.echo(f"{name} is registered: {_counts(told)}; commitment {told['commitment']}")


@app.command("list")
def list_private(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List the private datasets, as visitors see them."""
    with server_transaction(database, storage) as session:
        from sqlalchemy import select

        from codec_superb.server.database.models import PrivateDataset

        found = [_public(row) for row in session.scalars(select(PrivateDataset).order_by(PrivateDataset.id))]
    if as_json:
        print_json(found)
        return
    head = ("name", "clips", "compared with", "rotates", "retired", "commitment")
    rows = [
        (entry["name"], _counts(entry), entry["compared_with"], entry["rotates"] or MISSING,
         entry["retired"] or MISSING, entry["commitment"])
        for entry in found
    ]  # fmt: skip
    print_table("", head, rows, numbers_from=len(head))


@app.command("retire")
def retire(
    name: NameArgument, database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False
) -> None:
    """End the use of a private dataset; its results stay, and it may be opened."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.private_sets import registry

        told = _public(registry.retire(session, name, actor=ACTOR))
    if as_json:
        print_json(told)
    else:
        typer.echo(f"{name} is retired")


@app.command("open")
def open_(
    name: NameArgument, database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False
) -> None:
    """Make salt and manifest hash of a retired dataset public, which shows what was committed to."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.private_sets import registry

        found = registry.reveal(session, name, actor=ACTOR)
        told = {"name": name, "commitment": found.commitment, "salt": found.salt, "manifest_hash": found.manifest_hash}
    if as_json:
        print_json(told)
        return
    for key, value in told.items():
        typer.echo(f"{key}: {value}")
    typer.echo(f"check: printf %s%s {told['salt']} {told['manifest_hash']} | sha256sum")


@app.command("enqueue")
def enqueue(
    name: NameArgument,
    codec: Annotated[list[str] | None, typer.Option("--codec", metavar="NAME…", help="Codecs of the board.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All codecs of the board.")] = False,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Queue the newest public version of codecs for a run on a private dataset, once a version."""
    if bool(codec) == every:
        raise typer.BadParameter("name codecs with --codec, or take --all")
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.private_sets import queue

        made = queue.enqueue(session, name, None if every else codec, actor=ACTOR)
    data = [{"codec": entry.codec, "submission": entry.submission, "left_out": entry.left_out} for entry in made]
    if as_json:
        print_json(data)
        return
    for entry in made:
        typer.echo(f"{entry.codec}: {'left out, ' + entry.left_out if entry.left_out else 'queued'}")


def _public(row: PrivateDataset) -> dict[str, Any]:
    """Return what is public: neither path nor salt nor manifest hash."""
    return {
        "name": row.name,
        "clips": dict(row.counts),
        "seconds": dict(row.seconds),
        "compared_with": row.compared_with,
        "commitment": row.commitment,
        "rotates": row.rotates.date().isoformat() if row.rotates else None,
        "retired": row.retired.date().isoformat() if row.retired else None,
        "opened": row.opened.date().isoformat() if row.opened else None,
    }


def _counts(entry: dict[str, Any]) -> str:
    return ", ".join(f"{number} {category}" for category, number in entry["clips"].items())
