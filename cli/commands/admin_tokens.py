"""``codec-superb admin token``: API tokens for uploads, moderation and metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import note, print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption

if TYPE_CHECKING:
    from codec_superb.server.people.tokens import TokenRow

app = typer.Typer(help="Make, list and revoke API tokens.", no_args_is_help=True)


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Account that the token belongs to; made if it is new.")],
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE…", help="submit, moderate, metrics.", show_default="submit"),
    ] = None,
    expires_days: Annotated[
        int | None, typer.Option("--expires-days", min=1, help="Days until it expires.", show_default="never")
    ] = None,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token and print it; it is shown this once, and only its hash is kept."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.people import tokens

        made, secret = tokens.create(session, name, scope or ["submit"], actor=ACTOR, expires_days=expires_days)
    if as_json:
        print_json(_data(made) | {"token": secret})
        return
    until = "never expires" if made.expires is None else f"expires {made.expires:%Y-%m-%d}"
    note(f"token {made.id} of {made.account} for {', '.join(made.scopes)}, {until}; it is not shown again:")
    typer.echo(secret)


@app.command("list")
def list_tokens(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List all tokens with their prefixes."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.people import tokens

        found = tokens.all_tokens(session)
    if as_json:
        print_json([_data(entry) for entry in found])
        return
    head = ("id", "token", "account", "scopes", "state", "created", "expires", "last used")
    rows = [
        (str(entry.id), f"{entry.prefix}…", entry.account, ", ".join(entry.scopes), entry.state,
         _date(entry.created), _date(entry.expires), _date(entry.last_used))
        for entry in found
    ]  # fmt: skip
    print_table("", head, rows, numbers_from=len(head), spare=("created", "expires", "last used"))


@app.command("revoke")
def revoke(
    token: Annotated[str, typer.Argument(metavar="PREFIX_OR_ID", help="Its id, or the letters it begins with.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a token, and the sessions that were opened with it, at once."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.people import tokens

        ended = tokens.revoke(session, token, actor=ACTOR)
    if as_json:
        print_json(_data(ended))
    else:
        typer.echo(f"token {ended.id} ({ended.prefix}…) of {ended.account} is revoked")


def _data(entry: TokenRow) -> dict[str, Any]:
    moments = ("created", "expires", "revoked", "last_used")
    data = asdict(entry)
    return data | {key: None if data[key] is None else data[key].isoformat(timespec="seconds") for key in moments}


def _date(moment: Any) -> str:
    return "–" if moment is None else f"{moment:%Y-%m-%d}"
