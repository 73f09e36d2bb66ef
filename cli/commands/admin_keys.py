"""``codec-superb admin key``: keys whose attestations a leaderboard believes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import note, print_json, print_table
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.cli.server_database import ACTOR, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption

if TYPE_CHECKING:
    from codec_superb.server.database.models import VerificationKey

app = typer.Typer(help="Keys of maintainers that sign what they ran again.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Who signs with it, as pages show it.")]


@app.command("create")
def create(
    name: NameArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Private key to write, for its owner's eyes alone.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key for `verify --key` and believe it; of one made elsewhere `admin key add` takes the public half."""
    from codec_superb.pipeline.verification.keys import new_key

    # the outer one: a row that is not committed leaves no file
    with new_key(out) as public, server_transaction(database, storage, write=True) as session:
        from codec_superb.server.verification.keys import add

        made = _data(add(session, name, public, actor=ACTOR))
    if as_json:
        print_json(made | {"file": str(out)})
        return
    note(f"private key: {plain_path(out)}; public key of {name}, {made['fingerprint'][:16]}…:")
    typer.echo(made["public_key"])


@app.command("add")
def add_key(
    name: NameArgument,
    key: Annotated[str, typer.Argument(metavar="KEY|FILE", help="Public key in base64, or a file that holds it.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Believe the public key of a maintainer."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.verification.keys import add

        made = _data(add(session, name, key, actor=ACTOR))
    if as_json:
        print_json(made)
    else:
        typer.echo(f"{name}: {made['fingerprint']}")


@app.command("list")
def list_keys(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List all keys, revoked ones too."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.verification.keys import all_keys

        found = [_data(key) for key in all_keys(session)]
    if as_json:
        print_json(found)
        return
    head = ("name", "fingerprint", "added", "revoked")
    rows = [(e["name"], e["fingerprint"][:16], e["added"][:10], (e["revoked"] or "–")[:10]) for e in found]
    print_table("", head, rows, numbers_from=len(head))


@app.command("revoke")
def revoke(
    fingerprint: Annotated[str, typer.Argument(metavar="FINGERPRINT", help="Or its first eight letters or more.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Believe a key no longer; what it verified before stays verified until somebody decides otherwise."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.verification.keys import revoke as end

        ended = _data(end(session, fingerprint, actor=ACTOR))
    if as_json:
        print_json(ended)
    else:
        typer.echo(f"{ended['name']}: {ended['fingerprint']} is revoked")


def _data(key: VerificationKey) -> dict[str, Any]:
    return {
        "name": key.name, "fingerprint": key.fingerprint, "public_key": key.public_key,
        "added": key.added.isoformat(timespec="seconds"),
        "revoked": None if key.revoked is None else key.revoked.isoformat(timespec="seconds"),
    }  # fmt: skip
