"""The page ``/custom``: submissions on datasets, and figures of tasks, that are not of the benchmark."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from codec_superb.server.board.current import board_of
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.submissions import service
from codec_superb.web.rows import own_word_label
from codec_superb.web.site.board.paging import page_links
from codec_superb.web.site.custom import ListedTask
from codec_superb.web.site.page import render

router = APIRouter(include_in_schema=False)
PER_PAGE = 50
TASKS_PER_PAGE = 200
SHARE = 20
"""Figures of custom tasks of an account that stand in front of the next ones of it: one account fills no page alone."""
Number = Annotated[int, Query(ge=1, le=1_000_000)]


@router.get("/custom", response_class=HTMLResponse)
def custom_page(request: Request, session: ReadTransaction, page: Number = 1, tasks: Number = 1) -> HTMLResponse:
    """List the public submissions on datasets that are not of the benchmark, newest first, and tasks that are not.

    ``page`` counts pages of the former, ``tasks`` of the latter.
    """
    context = page_context_of(request, "Custom datasets and tasks")  # its revision is not newer than what is read below
    found = service.listed(session, custom=True, page=page, per_page=PER_PAGE)
    links = page_links(page, -(-found.total // PER_PAGE), lambda number: f"/custom?page={number}&tasks={tasks}")
    listed = listed_tasks(board_of(request).current)
    task_links = page_links(
        tasks, -(-len(listed) // TASKS_PER_PAGE), lambda number: f"/custom?page={page}&tasks={number}#tasks"
    )
    shown = render(
        "custom.html.j2", context, found=found.submissions, links=links, task_links=task_links,
        tasks=listed[(tasks - 1) * TASKS_PER_PAGE : tasks * TASKS_PER_PAGE],
    )  # fmt: skip
    return HTMLResponse(shown)


def listed_tasks(snapshot: Snapshot) -> list[ListedTask]:
    """Return the main figure of each custom task of the newest submissions, :data:`SHARE` of each account at a time.

    Equal definitions among them stand beside each other.
    """
    found: dict[tuple[str, str, str, str], ListedTask] = {}
    owners: dict[str, list[ListedTask]] = defaultdict(list)
    for entry in snapshot.runs:
        for row in entry.custom_tasks:
            # the first figure of a task on a dataset is the one that stands for it; no program but its maker's runs it
            said = own_word_label(entry.submitter) if entry.source == "verified" else entry.source_label
            listed = ListedTask(row, entry.title, entry.submission or "", said)
            if found.setdefault((row.task, row.dataset, row.chat, entry.codec), listed) is listed:
                owners[entry.submitter].append(listed)
    turns = [
        (number // SHARE, listed) for own in owners.values() for number, listed in enumerate(sorted(own, key=_order))
    ]
    return [listed for _, listed in sorted(turns, key=lambda each: (each[0], _order(each[1])))]


def _order(of: ListedTask) -> tuple[str, ...]:
    return of.row.label, of.row.task, of.row.dataset, of.row.chat, of.codec
