"""The page ``/custom``: submissions on datasets, and figures of tasks, that are not of the benchmark."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from codec_superb.server.board.current import board_of
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.submissions import service
from codec_superb.web.site.board.paging import page_links
from codec_superb.web.site.custom import ListedTask
from codec_superb.web.site.page import render

router = APIRouter(include_in_schema=False)
PER_PAGE = 50
MOST_TASKS = 200
"""Figures of custom tasks on the page; the others stand on the pages of their submissions."""


@router.get("/custom", response_class=HTMLResponse)
def custom_page(
    request: Request, session: ReadTransaction, page: Annotated[int, Query(ge=1, le=1_000_000)] = 1
) -> HTMLResponse:
    """List the public submissions on datasets that are not of the benchmark, newest first, and tasks that are not."""
    context = page_context_of(request, "Custom datasets and tasks")  # its revision is not newer than what is read below
    found = service.listed(session, custom=True, page=page, per_page=PER_PAGE)
    links = page_links(page, -(-found.total // PER_PAGE), lambda number: f"/custom?page={number}")
    tasks = listed_tasks(board_of(request).current)
    shown = render(
        "custom.html.j2", context, found=found.submissions, links=links, tasks=tasks[:MOST_TASKS],
        left_out=max(0, len(tasks) - MOST_TASKS),
    )  # fmt: skip
    return HTMLResponse(shown)


def listed_tasks(snapshot: Snapshot) -> list[ListedTask]:
    """Return the main figure of each custom task of the newest submissions, equal definitions beside each other."""
    found: dict[tuple[str, str, str, str], ListedTask] = {}
    for entry in snapshot.runs:
        for row in entry.custom_tasks:
            # the first figure of a task on a dataset is the one that stands for it
            listed = ListedTask(row, entry.title, entry.submission or "", entry.source_label)
            found.setdefault((row.task, row.dataset, row.chat, entry.codec), listed)
    return sorted(found.values(), key=lambda of: (of.row.label, of.row.task, of.row.dataset, of.row.chat, of.codec))
