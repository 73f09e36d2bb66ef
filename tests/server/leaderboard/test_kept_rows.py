"""Rows, cells and fronts that are kept for other pages: a visitor sees the same, and the first waits for none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cachetools import LRUCache

from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.leaderboard.pages import front_rows, prepare
from codec_superb.server.leaderboard.select import select
from codec_superb.server.leaderboard.state import parse
from codec_superb.web.site.board import rows
from codec_superb.web.site.board.page import leaderboard_page
from codec_superb.web.site.page import PageContext

QUERIES: tuple[dict[str, str], ...] = (
    {}, {"source": "all"}, {"category": "music"}, {"sort": "kbps", "kbps_max": "12"}, {"metric": "mel"},
    {"source": "all", "metric": "mel", "sort": "codec"}, {"search": "opus"}, {"page": "2"},
)  # fmt: skip


@pytest.fixture
def kept() -> Iterator[LRUCache[str, rows.WrittenRow]]:
    """Return the cache of rows, empty, and leave it so."""
    cache = rows._begin_once.cache
    cache.clear()
    yield cache
    cache.clear()


def page(snapshot: Snapshot, query: dict[str, str]) -> str:
    """Write the page of a query."""
    state = parse(query.items(), default_source=snapshot.default_source, datasets=())
    context = PageContext(title="", path="/", version="")
    return leaderboard_page(select(snapshot, state), front_rows(snapshot, state), context)


def test_no_first_visitor_waits_for_rows(snapshot: Snapshot, kept: LRUCache[str, rows.WrittenRow]) -> None:
    """What the service prepares before it is ready is what the pages of every category show."""
    prepare(snapshot)
    prepared = {identity: set(row.cells) for identity, row in kept.items()}
    assert prepared
    for query in QUERIES:
        if "source" not in query:
            page(snapshot, query)
    assert {identity: set(row.cells) for identity, row in kept.items()} == prepared


@pytest.mark.parametrize("order", [1, -1])
def test_a_page_is_the_same_whatever_was_shown_before(
    snapshot: Snapshot, kept: LRUCache[str, rows.WrittenRow], order: int
) -> None:
    """Cells that another view has besides do not show, those it lacks are added; a front is that of the filters."""
    after = {str(query): page(snapshot, query) for query in QUERIES[::order]}
    for query in QUERIES:
        kept.clear()
        afresh = Snapshot(snapshot.revision, snapshot.runs, preferred=snapshot.preferred)
        assert page(afresh, query) == after[str(query)]
