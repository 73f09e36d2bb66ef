"""The page ``/``: the leaderboard as HTML, from the same snapshot and cache as the API."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from codec_superb.metrics.results import UNCOUNTED
from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.current import board_of
from codec_superb.server.board.entries import board_row
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.leaderboard.answers import board_json
from codec_superb.server.leaderboard.endpoints import state_of
from codec_superb.server.leaderboard.select import ordered, quantity_of, rank, select, select_all
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.pareto import Measured, contenders, pareto_front
from codec_superb.web.rows import BoardRow
from codec_superb.web.site.board.address import with_query
from codec_superb.web.site.board.choices import BoardState, to_query
from codec_superb.web.site.board.page import leaderboard_page
from codec_superb.web.site.page import PageContext

router = APIRouter(include_in_schema=False)
_ABOUT = "Sound codecs on the same clips: bitrate against what survives of speech, audio and music, with intervals."


@router.get("/")
async def leaderboard(request: Request) -> Response:
    """Show one page of the leaderboard. An address with empty parameters redirects to its short form."""
    state = state_of(request)
    short = to_query(state, board_of(request).current.default_source)
    if any(not value.strip() for _, value in request.query_params.multi_items()):  # sent by a plain form
        return RedirectResponse(with_query("/", short), 303)

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        return leaderboard_page(select(snapshot, state), front_rows(snapshot, state), page_context)

    return await public_page(request, "Leaderboard", _ABOUT, make, key=short, quick=True)


def prepare(snapshot: Snapshot) -> None:
    """Make the rows of each category's table, and the arrays of its mixed view, before the first visitor asks.

    With 2,000 codecs the rows take 1.5 s in all: made by requests they would hold up those behind them.
    """
    for category in CATEGORIES:
        view = select_all(snapshot, BoardState(category=category, source=snapshot.default_source))
        if view.rows:
            leaderboard_page(view, (), PageContext(title="", path="/", version=""))
            board_json(view)
            snapshot.frame(category, "", "all").warm_usual()


def front_rows(snapshot: Snapshot, state: BoardState) -> list[BoardRow]:
    """Find the codecs of the chart's Pareto front, lowest bitrate first; kept for all pages and orders."""
    chosen = state.filters()
    found: list[BoardRow] = snapshot.ranked.get(("front", chosen), lambda: _front_rows(snapshot, chosen))
    return found


def _front_rows(snapshot: Snapshot, state: BoardState) -> list[BoardRow]:
    ranked = rank(snapshot, state)
    frame, found = ranked.frame, ordered(ranked, state)
    if state.metric in APPLICATIONS:
        valued = found[~np.isnan(frame.numbers(state.metric)[found])]
        if len(np.unique(frame.combinations(state.metric).numbers[valued])) > 1:
            return []  # values of different models or datasets are not comparable: no common front
    rates, values = frame.numbers("kbps")[found], frame.numbers(state.metric)[found]
    lossy = ~frame.flags("lossless")[found]
    drawn = np.flatnonzero((rates > 0) & ~np.isnan(values) & lossy)
    entries = [frame.entries[place] for place in found[drawn]]
    whole = frame.numbers("complete")[found[drawn]] == 1
    if state.metric in APPLICATIONS:
        asked = [entry.application(state.metric, state.category, state.dataset) for entry in entries]
        whole &= np.array([row is not None and not row.numbers.failed for row in asked], np.bool_)
    measured: list[Measured | None] = [None] * len(entries)  # figures of an application are on one dataset here
    if state.metric not in APPLICATIONS:
        alike = frame.combinations(state.metric).numbers[found[drawn]].tolist()
        measured = [
            ((part.datasets, (str(how),)), entry.sender) if part.clips else None
            for part, how, entry in zip([frame.figures[place] for place in found[drawn]], alike, entries, strict=True)
        ]
    drawn = drawn[contenders([entry.bit_source not in UNCOUNTED for entry in entries], whole.tolist(), measured)]
    better = quantity_of(state.metric).higher_is_better
    front = pareto_front(rates[drawn].tolist(), values[drawn].tolist(), higher_is_better=better)
    chosen = found[drawn[front]].tolist() if front else []
    return [board_row(frame.entries[i], state.category, state.dataset, None, "") for i in chosen]
