"""Columns by priority and by choice."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from importlib.resources import files
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from support.html import elements, links, query_of
from support.profile import examples
from support.web.board_views import board_results as results
from support.web.board_views import board_row, board_view, front_of

from codec_superb.metrics.table import CATEGORIES, overall_metrics
from codec_superb.web.rows import CardFacts
from codec_superb.web.site.board.choices import CHOOSABLE, BoardState, BoardView
from codec_superb.web.site.board.columns import STEP, WIDEST, places
from codec_superb.web.site.board.page import leaderboard_page
from codec_superb.web.site.page import PageContext

EVERYTHING = frozenset(CHOOSABLE) | {"kbps"}
CARD = CardFacts(50.0, 14_860_000, 26.5, 2022, "BSD-3-Clause", "A. Author, " + "a long title, " * 9)


def page_of(view: BoardView) -> str:
    """Render a view."""
    return leaderboard_page(view, front_of(view.rows), PageContext(title="Leaderboard", path="/", version="0.1.0"))


@given(
    st.sampled_from(CATEGORIES), st.sampled_from(("score", "pesq", "mel")), st.sampled_from(("", "kbps", "encode_rtf")),
    st.lists(st.sampled_from(CHOOSABLE), max_size=6, unique=True), st.booleans(), st.sets(st.sampled_from(CHOOSABLE)),
)  # fmt: skip
@examples(200)
def test_what_is_chosen_is_always_there(
    category: str, metric: str, sort: str, columns: list[str], only: bool, filled: AbstractSet[str]
) -> None:
    """Bitrate, metric, order and choice at any width, each column once, others as the width grows, or none of them."""
    chosen = tuple(key for key in CHOOSABLE if key in columns)
    state = BoardState(category=category, metric=metric, sort=sort, columns=chosen, only_columns=only)  # type: ignore[arg-type]
    there = {*filled, "kbps", metric, *((sort,) if sort else ())}
    found = places(state, there)
    always = {place.key for place in found if place.width == 0}
    assert {"kbps", metric, *chosen, *((sort,) if sort else ())} == always
    assert len(found) == len({place.key for place in found})
    assert {place.key for place in found} <= there | set(chosen)
    assert not (only and chosen) or len(found) == len(always)
    assert all(place.width <= WIDEST and place.width % STEP == 0 for place in found)


def test_priority_is_rank_then_the_metrics_of_the_score() -> None:
    """The wider the table, the more of what matters; words come where they are asked for alone."""
    for category in CATEGORIES:
        widths = {place.key: place.width for place in places(BoardState(category=category), EVERYTHING)}
        order = ["rank", *overall_metrics(category), "tokens_per_second", "clips"]
        assert all(widths[before] <= widths[after] for before, after in pairwise(order))
        assert widths["rank"] <= 36
        assert max(widths[key] for key in overall_metrics(category)) <= 68
        assert not {"licence", "paper"} & set(widths)


def test_the_style_sheet_knows_each_width() -> None:
    """A rule hides the columns of each step below it."""
    sheet = (files("codec_superb.web") / "static/site/style/tables.css").read_text(encoding="utf-8")
    rules = re.findall(r"@container board-table \(width < (\d+)rem\) \{ \.w(\d+) \{ display: none; \} \}", sheet)
    assert [int(width) for width, _ in rules] == [int(name) for _, name in rules] == list(range(28, WIDEST + 1, STEP))


def test_a_page_shows_what_its_address_chooses() -> None:
    """What cards say stands in the first columns, with a dash where they do not; the form and all links keep it."""
    rows = [board_row(result, n, card=CARD if n else CardFacts()) for n, result in enumerate(results())]
    chosen = ("frame_rate", "latency_ms", "causal", "parameters", "year", "licence", "paper")
    html = page_of(board_view(BoardState(columns=chosen, only_columns=True), rows))
    heads = [each.text.split()[0] for each in elements(html, "th", scope="col")]
    assert heads == ["Codec", "Bitrate", "Score", "Frames", "Latency", "Causal", "Size", "Year", "Licence", "Paper"]
    cells = [each.text for each in elements(html, "td")]
    assert cells[2:9] == ["–", "–", "no", "–", "–", "–", "–"]
    assert cells[11:17] == ["50.0", "26.5", "yes", "14.9", "2022", "BSD-3-Clause"]
    assert cells[17].endswith("…")
    boxes = elements(html, "input", type="checkbox", name="columns")
    assert {each.attributes["form"] for each in boxes} == {"filters"}
    assert {each.attributes["value"] for each in boxes if "checked" in each.attributes} == set(chosen)
    kept = query_of(links(html)["Music"])
    assert (kept["columns"], kept["only_columns"]) == ("paper", "1")
    assert links(html)["CSV"] == "/api/v1/leaderboard.csv"
    assert links(html)["As many as fit"] == "/"
    assert elements(html, "div", id="board-chart")[0].attributes["data-figure"] == "/api/v1/leaderboard/chart"


def test_an_empty_answer_keeps_the_choice() -> None:
    """Filters that leave nothing do not forget the columns."""
    html = page_of(board_view(BoardState(kbps_min=900.0, columns=("year",)), rows=[]))
    assert [each.attributes["value"] for each in elements(html, "input", type="hidden", name="columns")] == ["year"]


def test_every_row_says_who_stands_behind_it() -> None:
    """Badge and submitter are beside the name, where every screen has room; so are figures that the row stands for."""
    rows = [board_row(result, n) for n, result in enumerate(results())]
    rows[1] = board_row(rows[1].result, 1, also=("0.812 (Table 3)",))
    html = page_of(board_view(rows=rows))
    badges = [each.text for each in elements(html, "span") if each.attributes.get("class", "").startswith("badge")]
    assert (badges.count("verified"), badges.count("self-reported")) == (3, 11)
    smalls = [each.text for each in elements(html, "small") if "by Sound Lab" in each.text]
    assert len(smalls) == 14
    assert smalls[1].endswith("by Sound Lab · published: 0.812 (Table 3)")
