"""``/local``: the runs of the folder and what became of each. Whatever would change the board is refused."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse

from codec_superb.server.board.current import board_of
from codec_superb.server.errors import Forbidden
from codec_superb.server.local.feeder import feeder_of
from codec_superb.server.people.page_context import public_page_context
from codec_superb.web.site.page import render

router = APIRouter(include_in_schema=False)
_CHANGING = ("/submit", "/login", "/logout", "/moderation", "/moderation/{rest:path}", "/api/v1/submissions",
             "/api/v1/submissions/{identity}/decision")  # fmt: skip


@router.get("/local", response_class=HTMLResponse)
def local_runs(request: Request) -> HTMLResponse:
    """List the runs of the folder, unfinished and broken ones among them."""
    revision = _revision(request)  # before what is shown: a change in between is loaded
    context = replace(public_page_context(request, "Local runs"), revision=revision)
    return HTMLResponse(render("local.html.j2", context, shown=feeder_of(request).shown), headers=_NEVER_KEPT)


@router.get("/local/revision", response_class=PlainTextResponse)
def revision(request: Request) -> PlainTextResponse:
    """Return a text that changes with the board and with the states of the runs: open pages ask for it."""
    return PlainTextResponse(_revision(request), headers=_NEVER_KEPT)


def _revision(request: Request) -> str:
    """Join the board's revision, which its pages carry, and that of the runs, which this page carries too."""
    runs = hash(tuple((one.codec, one.note) for one in feeder_of(request).shown))
    return f"{board_of(request).current.revision} {runs & 0xFFFFFFFF:x}"


_NEVER_KEPT = {"Cache-Control": "no-store"}


def _refuse() -> None:
    raise Forbidden(
        "this board only shows the runs of a folder on this machine: it takes no uploads, logins and decisions; "
        "start a leaderboard with codec-superb serve, without a folder, and send files there with codec-superb submit"
    )


for _path in _CHANGING:
    _methods = ["POST"] if _path.startswith("/api/") else ["GET", "POST"]
    router.add_api_route(_path, _refuse, methods=_methods)
