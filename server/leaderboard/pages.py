"""The page ``/``: the leaderboard as HTML, from the same snapshot and cache as the API."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.current import board_of
from codec_superb.server.board.entries import board_row
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.leaderboard.answers import board_json
from codec_superb.server.leaderboard.endpoints import state_of
from codec_superb.server.leaderboard.select import (
    most_common,
    ordered,
    quantity_of,
    rank,
    select,
    select_all,
    with_more_failures,
)
from codec_superb.web.application_rows import at_rates_behind
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.pareto import pareto_front
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
    short = to_query(state, board_of(request).current.default_source(state.category, state.metric))
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
        usual = snapshot.default_source(category)
        for source in dict.fromkeys((usual, "runs")):
            view = select_all(snapshot, BoardState(category=category, source=source))
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
    """Find them among those that ``contenders`` of the chart chooses too, by the arrays of the frame."""
    ranked, key = rank(snapshot, state), state.metric
    frame = ranked.frame
    values, alike = frame.numbers(key), frame.combinations(key).numbers
    valued = np.zeros(len(frame), np.bool_)
    valued[ordered(ranked, state)] = True
    valued &= ~np.isnan(values)
    rates = frame.rates_behind("kbps", key)
    drawn = valued & (rates > 0) & ~frame.flags("lossless") & frame.flags("counted") & ~ranked.apart
    whole = drawn & (frame.numbers("complete") == 1)
    if key in APPLICATIONS:  # values of different models or datasets are not comparable: the front is of one alone
        counted = valued & frame.flags("counted")
        complete = counted & (frame.numbers("complete") == 1)
        first = next((some for some in (complete, counted, valued) if some.any()), valued)
        usual = alike == most_common(frame, first, key)[0]
        drawn, whole = drawn & usual, whole & usual
        whole &= ~with_more_failures(frame, whole, key)
    drawn = whole if whole.any() else drawn
    measured = drawn & (frame.numbers("clips") > 0)  # published figures have no clips
    if key not in APPLICATIONS:  # those are on one dataset here
        drawn &= ~measured | (alike == most_common(frame, measured, key)[0])
    places = np.flatnonzero(drawn)
    better = quantity_of(key).higher_is_better
    front = pareto_front(rates[places].tolist(), values[places].tolist(), higher_is_better=better)
    rows = [board_row(frame.entries[place], state.category, state.dataset, None, "") for place in places[front]]
    return [at_rates_behind(row, key) for row in rows]
