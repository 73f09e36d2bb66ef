"""``codec-superb admin``: maintenance of a leaderboard on its own machine."""

from __future__ import annotations

from typing import Annotated

import typer

from codec_superb.cli.arguments import Group
from codec_superb.cli.commands import (
    admin_backup,
    admin_codecs,
    admin_datasets,
    admin_keys,
    admin_listening,
    admin_mseb,
    admin_private,
    admin_submissions,
    admin_tasks,
    admin_tokens,
    admin_verify,
    admin_xares,
)
from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption

app = typer.Typer(
    help="Maintain a leaderboard: tokens, submissions, codec names, audit log, backups.", no_args_is_help=True
)
app.add_typer(admin_tokens.app, name="token", cls=Group)
app.add_typer(admin_submissions.app, name="submissions", cls=Group)
app.add_typer(admin_codecs.app, name="codec", cls=Group)
app.add_typer(admin_datasets.app, name="datasets", cls=Group)
app.add_typer(admin_listening.app, name="listening", cls=Group)
app.add_typer(admin_mseb.app, name="mseb", cls=Group)
app.add_typer(admin_tasks.app, name="tasks", cls=Group)
app.add_typer(admin_xares.app, name="xares", cls=Group)
app.add_typer(admin_private.app, name="private", cls=Group)
app.add_typer(admin_keys.app, name="key", cls=Group)
app.add_typer(admin_verify.app, name="verify", cls=Group)
app.command("backup")(admin_backup.backup)
app.command("restore")(admin_backup.restore)


@app.command("audit")
def audit(
    limit: Annotated[int, typer.Option(min=1, help="Only this many entries, the newest.")] = 50,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who did what: uploads, decisions, tokens, logins."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.moderation.repository import audit_entries

        entries = [
            {"at": entry.at.isoformat(timespec="seconds"), "actor": entry.actor, "action": entry.action,
             "subject": entry.subject, "detail": entry.detail}
            for entry in audit_entries(session, limit)
        ]  # fmt: skip
    if as_json:
        print_json(entries)
        return
    head = ("when", "who", "what", "subject", "details")
    rows = [(str(e["at"]), str(e["actor"]), str(e["action"]), str(e["subject"]), _words(e["detail"])) for e in entries]
    print_table("", head, rows, numbers_from=len(head), folds=True)


def _words(detail: object) -> str:
    assert isinstance(detail, dict)
    return "; ".join(f"{key}: {value}" for key, value in detail.items() if value not in (None, ""))
