"""What a visitor chose: read strictly from the address, written back canonically."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.errors import BadRequest
from codec_superb.server.leaderboard.state import QUANTITIES, SORTS, SOURCES, parse
from codec_superb.web.site.board.choices import CHOOSABLE, BoardState, SourceFilter, default_metric, to_query

amounts = st.one_of(st.none(), st.floats(min_value=0, allow_nan=False, allow_infinity=False))
texts = st.text(max_size=40).map(str.strip)


@st.composite
def states(draw: st.DrawFn) -> BoardState:
    """Any state that an address can hold."""
    columns = draw(st.sets(st.sampled_from(CHOOSABLE), max_size=5))
    kbps, tps = ([draw(amounts), draw(amounts)] for _ in range(2))
    for pair in (kbps, tps):
        if None not in pair:
            pair.sort()
    return BoardState(
        category=draw(st.sampled_from(CATEGORIES)), metric=draw(st.sampled_from(QUANTITIES)),
        source=draw(st.sampled_from(SOURCES)), dataset=draw(texts), kbps_min=kbps[0], kbps_max=kbps[1],
        tps_min=tps[0], tps_max=tps[1], rates=tuple(sorted(draw(st.sets(st.integers(1, 192_000), max_size=4)))),
        open_weights=draw(st.booleans()), causal=draw(st.booleans()), search=draw(texts),
        sort=draw(st.sampled_from(("", *SORTS))), descending=draw(st.sampled_from([None, True, False])),
        columns=tuple(key for key in CHOOSABLE if key in columns), only_columns=draw(st.booleans()),
        page=draw(st.integers(1, 1000)),
    )  # fmt: skip


@given(state=states(), default=st.sampled_from(["runs", "table3"]))
def test_what_is_written_is_read_back(state: BoardState, default: SourceFilter) -> None:
    """Writing a state as a query and reading it gives the same state, whatever the default source."""
    query = to_query(state, default)
    assert (
        parse(
            parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)),
            default_source=lambda _category, _metric: default,
        )
        == state
    )


@given(state=states())
def test_the_query_is_canonical(state: BoardState) -> None:
    """The order and spelling in which parameters came make no difference to what is written."""
    pairs = parse_qsl(to_query(state))
    again = parse([*reversed(pairs), ("causal", ""), ("kbps_min", " ")] if state.kbps_min is None else pairs[::-1])
    assert to_query(again) == to_query(state)


def test_defaults_are_left_out() -> None:
    """An address says only what differs from the defaults."""
    assert to_query(BoardState()) == ""
    assert to_query(BoardState(source="table3"), "table3") == ""
    assert to_query(BoardState(source="runs"), "table3") == "source=runs"
    assert to_query(BoardState(kbps_max=6.0, rates=(16000, 24000), causal=True, descending=False)) == (
        "kbps_max=6&rates=16000&rates=24000&causal=1&descending=0"
    )


def test_a_table_of_applications_shows_one_unless_another_is_chosen() -> None:
    """The overall score is the default wherever there is one; UltraEval has its own average."""
    assert parse([("source", "ultraeval")]).metric == "ultra_average"
    assert parse([("source", "ultraeval"), ("dataset", "aishell1")]).metric == "ultra_error_rate_pct"
    assert to_query(BoardState(source="ultraeval", metric=default_metric("ultraeval", ""))) == "source=ultraeval"
    assert to_query(BoardState(source="ultraeval")) == "metric=score&source=ultraeval"


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("colour", "red")], "colour: expected a parameter of category, metric"),
        ([("category", "noise")], "expected one of speech, audio, music, got 'noise'"),
        ([("metric", "beauty")], "expected one of score, stft"),
        ([("source", "theirs")], "expected one of runs, verified, self-reported, table3"),
        ([("dataset", "nowhere")], "expected one of mini, got 'nowhere'"),
        ([("kbps_min", "-1")], "kbps_min: expected a number of at least 0"),
        ([("kbps_max", "nan")], "kbps_max: expected a number of at least 0"),
        ([("tps_max", "1e999")], "tps_max: expected a number of at least 0"),
        ([("tps_min", "many")], "tps_min: expected a number of at least 0"),
        ([("kbps_min", "8"), ("kbps_max", "4")], "kbps_min: expected at most kbps_max, which is 4, got '8'"),
        ([("rates", "16k")], "rates: expected a whole number"),
        ([("rates", "8000")] * 21, "at most 20 sampling rates"),
        ([("open_weights", "maybe")], "open_weights: expected 1 or 0"),
        ([("search", "x" * 101)], "search: expected at most 100 characters"),
        ([("sort", "colour")], "sort: expected one of codec"),
        ([("columns", "year"), ("columns", "colour")], "columns: expected one of rank, score"),
        ([("only_columns", "all")], "only_columns: expected 1 or 0"),
        ([("page", "0")], "page: expected a whole number from 1"),
        ([("page", "²")], "page: expected a whole number from 1"),
        ([("page", "9" * 5000)], "page: expected a whole number from 1"),
        ([("page", "1"), ("page", "2")], "page: expected one value, got '2 values'"),
    ],
)
def test_what_does_not_fit_is_named(pairs: list[tuple[str, str]], words: str) -> None:
    """An unknown or impossible value is an error that says what was expected and what came."""
    with pytest.raises(BadRequest) as caught:
        parse(pairs, datasets=["mini"])
    assert words in caught.value.detail
    assert caught.value.problems[0]["path"].startswith("query.")
