"""``codec-superb submit``: send submission files to a leaderboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.cli.uploading import UploadResult
    from codec_superb.pipeline.submission.findings import CheckReport

TOKEN_VARIABLE = "CODEC_SUPERB_TOKEN"  # noqa: S105 -- the name of a variable
CANNOT, FAULTS = 2, 3
_NOT_ALLOWED = (401, 403)
_WAITING = ("pending", "held")


def command(
    server: Annotated[str, typer.Option(metavar="URL", help="Address of the leaderboard.")],
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE.zip…", help="Submission files, as pack writes them.")
    ] = None,
    withdraw: Annotated[
        str | None, typer.Option(metavar="ID", help="Take back a submission of your account, in place of sending.")
    ] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why it is withdrawn; shown in its history.")] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with your API token.", show_default=f"${TOKEN_VARIABLE}"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check files here, then send them to a leaderboard; exit 3 when one is refused, 2 when it cannot be sent.

    Parts that lie beside a file are sent before it, and after a failure only those that the leaderboard lacks. A file
    that was sent before is recognised: sending again after a failure is safe. One that was withdrawn is
    refused. With --withdraw a submission is taken back: its file and its history stay.
    """
    if bool(files) == bool(withdraw) or (reason and not withdraw):
        raise typer.BadParameter("expected files to send, or --withdraw ID with a --reason if wanted")
    token = _token(token_file)
    if server.startswith("http://") and token and not _is_local(server):
        note("the token travels unprotected: use https:// where the leaderboard has it")
    outcomes, code = _withdrawn(withdraw, server, token, reason) if withdraw else _sent(files or [], server, token)
    _say(outcomes, as_json=as_json)
    if code:
        raise typer.Exit(code)


def _withdrawn(identity: str, server: str, token: str | None, reason: str) -> tuple[list[dict[str, Any]], int]:
    """Take a submission back; return what to say and the exit code."""
    from codec_superb.cli.uploading import ServerUnreachable, withdraw

    failed: dict[str, Any] = {"file": identity, "accepted": False, "problems": []}
    try:
        answer = withdraw(identity, server, token, reason)
    except ServerUnreachable as error:
        return [failed | {"error": str(error)}], CANNOT
    if not answer.accepted:
        code = CANNOT if answer.status in _NOT_ALLOWED else FAULTS
        return [failed | {"error": f"{answer.answer.get('detail', 'no reason given')} ({answer.status})"}], code
    return [{"file": identity, "accepted": True, "new": True, "url": "", **answer.answer}], 0


def _sent(files: list[Path], server: str, token: str | None) -> tuple[list[dict[str, Any]], int]:
    """Send files one after another; return what to say and the exit code."""
    from codec_superb.cli.uploading import ServerUnreachable, send

    outcomes: list[dict[str, Any]] = []
    code = 0
    for file in files:
        report, parts = _checked(file)
        if not report.ok:
            outcomes.append(_refused_here(file, report))
            code = max(code, FAULTS)
            continue
        try:
            sent = send(file, server, token, parts=parts, say=note)
        except ServerUnreachable as error:
            outcomes.append({"file": str(file), "accepted": False, "error": str(error), "problems": []})
            code = CANNOT
            break
        outcomes.append(_told(file, sent))
        if sent.status in _NOT_ALLOWED:
            code = CANNOT
            break
        code = code if outcomes[-1]["accepted"] else max(code, FAULTS)
    return outcomes, code


def _token(file: Path | None) -> str | None:
    """Read the token from a file or the environment; command-line arguments are visible to all users of a machine."""
    text = os.environ.get(TOKEN_VARIABLE, "") if file is None else file.read_text(encoding="utf-8")
    token = text.strip()
    if file is not None and not token:
        raise typer.BadParameter(f"expected a token in {file}, got an empty file")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise typer.BadParameter("expected a token of letters, digits and - or _, in one line")
    return token or None


def _is_local(server: str) -> bool:
    from urllib.parse import urlsplit

    return urlsplit(server).hostname in {"localhost", "127.0.0.1", "::1"}


def _checked(file: Path) -> tuple[CheckReport, dict[str, Path]]:
    """Check as the leaderboard does, except for datasets that only the leaderboard knows; also return its parts."""
    from codec_superb.pipeline.submission.admission import check_admission
    from codec_superb.pipeline.submission.check import check_and_open
    from codec_superb.pipeline.submission.known_datasets import prepared_dataset
    from codec_superb.pipeline.submission.parts.reading import part_name

    report, opened = check_and_open(file, known=prepared_dataset, more=[check_admission], slim=True)
    named = opened.submission.parts if opened is not None else ()
    places = (file.with_name(part_name(file.name, number, len(named))) for number in range(1, len(named) + 1))
    return report, {part.sha256: place for part, place in zip(named, places, strict=True)}


def _refused_here(file: Path, report: CheckReport) -> dict[str, Any]:
    problems = [problem.model_dump() for problem in report.problems]
    total = count(len(problems) + report.more, "problem")
    return {"file": str(file), "accepted": False, "error": f"not sent: {total} found here", "problems": problems}


def _told(file: Path, sent: UploadResult) -> dict[str, Any]:
    if sent.accepted and sent.answer.get("status") == "withdrawn":
        why = sent.answer.get("reason") or "no reason is told to others than the account that sent it"
        detail = (
            f"sent before and withdrawn: {why}; pack it again (--submitter), or ask a maintainer of the leaderboard"
        )
        return {"file": str(file), "problems": [], **sent.answer, "accepted": False, "error": detail}
    if sent.accepted and sent.answer.get("status") == "known":
        detail = "somebody else sent it before, and it is not public: pack it again (--submitter)"
        return {"file": str(file), "problems": [], **sent.answer, "accepted": False, "error": detail}
    if sent.accepted:
        return {"file": str(file), "accepted": True, "new": sent.status != 200, **sent.answer}  # noqa: PLR2004 -- HTTP
    detail = f"{sent.answer.get('detail', 'no reason given')} ({sent.status})"
    return {"file": str(file), "accepted": False, "error": detail, "problems": sent.answer.get("problems", [])}


def _say(outcomes: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(outcomes)
        return
    for outcome in outcomes:
        name = plain_path(Path(outcome["file"]))
        if not outcome["accepted"]:
            typer.echo(f"{name}: {outcome['error']}")
            for problem in outcome["problems"]:
                place, fix = problem.get("path"), problem.get("how_to_fix")
                typer.echo(f"  {place}: expected {problem.get('expected')}, got {problem.get('got')}. {fix}")
            continue
        known = "" if outcome["new"] else ", sent before"
        told = f"{name}: {outcome['codec']} version {outcome['version']}, {outcome['status']}{known}"
        if outcome["status"] in _WAITING:
            told += ", waits for a moderator; its page is public once it is accepted"
        typer.echo(f"{told}: {outcome['url']}" if outcome.get("url") else told)
        if outcome["status"] == "held":
            _say_why(outcome)
        for text in outcome.get("notes", []):
            typer.echo(f"  note: {text}")


def _say_why(outcome: dict[str, Any]) -> None:
    """Say why something is held: a moderator's words, or the warnings that hold it."""
    found = [f"{each['where']}: {each['text']}" if each["where"] else each["text"]
             for each in outcome.get("warnings", []) if each.get("holds")]  # fmt: skip
    for text in [outcome["reason"]] if outcome.get("reason") else found:
        typer.echo(f"  held: {text}")
