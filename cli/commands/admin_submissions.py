"""``codec-superb admin submissions``: list submissions and decide about them, as moderators do on the page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.cli.server_database import ACTOR, server_database, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption, server_settings

if TYPE_CHECKING:
    from codec_superb.server.database.models import Submission
    from codec_superb.server.moderation.service import Decision
    from codec_superb.server.settings import Settings

FAULTS = 3
"""Exit code where a file was refused."""
MAINTAINERS = "maintainers"
app = typer.Typer(help="List submissions and decide about them.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of a submission.")]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Shown with the submission.")]
NeededReason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; shown with the submission.")]


@app.command("list")
def list_submissions(
    status: Annotated[
        Literal["pending", "held", "self-reported", "verified", "withdrawn"] | None,
        typer.Option(help="Only this status."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Only this many, the newest.")] = 100,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """List submissions, the newest first, with their warnings."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.database.models import STATUSES
        from codec_superb.server.moderation.repository import of_status

        found = [_data(entry) for entry in of_status(session, [status] if status else STATUSES, limit=limit)]
    if as_json:
        print_json(found)
        return
    head = ("id", "codec", "version", "status", "kind", "from", "received", "clips", "warnings")
    rows = [
        (entry["id"], entry["codec"], str(entry["version"]), entry["status"], "custom" if entry["custom"] else "named",
         entry["account"] or "anonymous", entry["received"][:10], str(entry["clips"]),
         str(sum(warning.get("more", 1) for warning in entry["warnings"])))
        for entry in found
    ]  # fmt: skip
    print_table("", head, rows, numbers_from=len(head), spare=("from", "received", "clips"))


@app.command("add")
def add(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.zip…", help="Submissions on this machine.")],
    account: Annotated[str, typer.Option(help="Name that they are published under.")] = MAINTAINERS,
    verified: Annotated[
        bool, typer.Option("--verified", help="Mark them as run by the maintainers themselves.")
    ] = False,
    reason: ReasonOption = "",
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check files of this machine as uploads are checked, and publish them; this needs no token."""
    with server_transaction(database, storage, write=True) as session:  # makes the tables where there are none
        from codec_superb.server.datasets.service import ensure_builtin

        ensure_builtin(session)
    outcomes = _added(files, account, reason if verified else None, server_settings(database, storage))
    if as_json:
        print_json(outcomes)
    else:
        for outcome in outcomes:
            told = outcome["error"] or f"{outcome['codec']}, version {outcome['version']} is {outcome['status']}"
            typer.echo(f"{plain_path(Path(outcome['file']))}: {told}")
    if any(outcome["error"] for outcome in outcomes):
        raise typer.Exit(FAULTS)


def _with_reason(decision: Decision) -> Callable[..., None]:
    def decided(
        submission: IdArgument, reason: NeededReason, database: DatabaseOption = None, storage: StorageOption = None,
        as_json: JsonOption = False,
    ) -> None:  # fmt: skip
        _decide(submission, decision, reason, database, storage, as_json=as_json)

    return decided


def _with_or_without(decision: Decision) -> Callable[..., None]:
    def decided(
        submission: IdArgument, reason: ReasonOption = "", database: DatabaseOption = None,
        storage: StorageOption = None, as_json: JsonOption = False,
    ) -> None:  # fmt: skip
        _decide(submission, decision, reason, database, storage, as_json=as_json)

    return decided


def _add_decisions() -> None:
    told: tuple[tuple[Decision, Callable[[Decision], Callable[..., None]], str], ...] = (
        (
            "accept",
            _with_or_without,
            "Publish what is pending or held; with a reason, publish again what was withdrawn.",
        ),
        ("reject", _with_reason, "Turn down what is pending or held."),
        ("hold", _with_reason, "Take what is public off the board until somebody decides again."),
        ("verify", _with_or_without, "Mark what is self-reported or held as run again by the maintainers."),
        ("withdraw", _with_reason, "Take back what is public; its file and its history stay."),
    )
    for decision, made, text in told:
        app.command(decision, help=text)(made(decision))


_add_decisions()


def _added(files: list[Path], account: str, verified: str | None, settings: Settings) -> list[dict[str, Any]]:
    """Store files; one that is refused comes back with the error. With ``verified``, the reason, they are marked so."""
    from codec_superb.server.database.session import Database
    from codec_superb.server.errors import ServerError
    from codec_superb.server.ingest.checker import Checker
    from codec_superb.server.ingest.local_file import identity_of_account, reason_of, take_file
    from codec_superb.server.moderation.service import decide
    from codec_superb.server.operations.preparation import usable

    outcomes: list[dict[str, Any]] = []
    with closing(Database(settings.database_url)) as opened, closing(Checker(settings)) as checker, usable(settings):
        caller = identity_of_account(opened, account)
        for file in files:
            try:
                receipt, new = take_file(opened, settings, checker, file, caller)
                if verified is not None and receipt.status in {"self-reported", "held"}:
                    with opened.transaction(write=True) as session:
                        decide(session, receipt.id, "verify", verified, actor=ACTOR)
                    receipt = receipt.model_copy(update={"status": "verified"})
            except ServerError as error:
                outcomes.append({"file": str(file), "error": reason_of(error)})
            else:
                outcomes.append({"file": str(file), "error": "", "new": new, **receipt.model_dump(mode="json")})
    return outcomes


def _decide(
    submission: str, decision: Decision, reason: str, database: str | None, storage: Path | None, *, as_json: bool
) -> None:
    with server_database(database, storage) as opened:
        from codec_superb.server.moderation.service import decided

        settings = server_settings(database, storage)
        with decided(opened, settings, submission, decision, reason, actor=ACTOR) as made:
            after = _data(made)
    if as_json:
        print_json(after)
    else:
        typer.echo(f"{after['codec']}, version {after['version']} ({after['id']}) is {after['status']}")


def _data(entry: Submission) -> dict[str, Any]:
    from codec_superb.server.moderation.kept_warnings import kept

    return {
        "id": entry.id, "codec": entry.codec.name, "version": entry.version, "status": entry.status,
        "account": None if entry.account is None else entry.account.name, "submitter": entry.submitter,
        "received": entry.received.isoformat(timespec="seconds"), "clips": entry.clips, "complete": entry.complete,
        "custom": entry.custom,
        "warnings": kept(entry.warnings), "decided_by": entry.decided_by, "reason": entry.reason,
        "decided": None if entry.decided is None else entry.decided.isoformat(timespec="seconds"),
    }  # fmt: skip
