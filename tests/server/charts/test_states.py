"""Two states of a dataset under one name: other clips, which no front, line or vote puts beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission

from codec_superb.applications.table import AVERAGES
from codec_superb.metrics.results import Score
from codec_superb.server.board.entries import BoardEntry, board_row, on_usual_state
from codec_superb.server.charts.rows import on_usual_states
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.board import board_chart

WER = "asr_wer_pct"


@pytest.fixture
def board(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Three accounts on one state of a dataset; on another one somebody with a better codec and three short runs."""
    with database.transaction(write=True) as session:
        for number, owner in enumerate(("ann", "bea", "cay", "eve", "eve", "eve", "eve")):
            others = owner == "eve"
            key = make_submission(
                session, f"codec_{number}", 6.0 + number, 0.95 if others else 0.6 + number / 10, owner=owner,
                applications=[Probed(WER, 2.0 if others else 9.0 - number, 1.0, "mini")],
                result={"complete": False} if number > 3 else {},
            )  # fmt: skip
            if others:
                stored = session.get_one(Submission, key)
                newer = [{**one, "manifest_hash": "0" * 64} for one in stored.document["datasets"]]
                stored.document = {**stored.document, "datasets": newer}
    with TestClient(app) as running:
        yield running


def as_partial(entry: BoardEntry) -> BoardEntry:
    """Return a codec with a few clips."""
    return replace(entry, figures={place: own._replace(complete=False) for place, own in entry.figures.items()})


def front_of(figure: dict[str, Any]) -> list[float]:
    """Return the bitrates of a chart's front."""
    return next((trace["x"] for trace in figure["data"] if trace["meta"]["role"] == "front"), [])


def test_no_front_is_of_both(board: TestClient) -> None:
    """In words on the first page, on its chart and on that of the page of charts, which names who is outside."""
    page = board.get("/?category=speech", headers={"Accept": "text/html"}).text
    words = page[page.index('id="front-words"') :].split("</details>")[0]
    assert [name in words for name in ("Codec 0", "Codec 2", "Codec 3")] == [True, True, False]
    for address in ("/api/v1/leaderboard/chart?category=speech", "/api/v1/charts/rate"):
        assert front_of(board.get(address).json()) == pytest.approx([6.0, 7.0, 8.0], rel=0.011)
    assert "not measured as most were (datasets, their state, definitions): Codec 3" in board.get("/charts").text


def test_of_as_many_senders_words_ranks_and_chart_have_the_same_state(app: FastAPI, database: Database) -> None:
    """Three accounts on each: one order decides for all three."""
    with database.transaction(write=True) as session:
        for number, owner in enumerate(("ann", "bea", "cay", "dan", "eve", "fay")):
            key = make_submission(session, f"codec_{number}", 6.0 + number, 0.6 + number / 20, owner=owner)
            if number > 2:
                stored = session.get_one(Submission, key)
                newer = [{**one, "manifest_hash": "0" * 64} for one in stored.document["datasets"]]
                stored.document = {**stored.document, "datasets": newer}
    with TestClient(app) as board:
        page = board.get("/?category=speech", headers={"Accept": "text/html"}).text
        words = page[page.index('id="front-words"') :].split("</details>")[0]
        rows = board.get("/api/v1/leaderboard?category=speech").json()["rows"]
        drawn = front_of(board.get("/api/v1/leaderboard/chart?category=speech").json())
    named = [number for number in range(6) if f"Codec {number}" in words]
    assert named in ([0, 1, 2], [3, 4, 5])
    assert sorted(row["codec"] for row in rows if row["rank"]) == [f"codec_{number}" for number in named]
    assert drawn == pytest.approx([6.0 + number for number in named], rel=0.011)


def test_an_application_is_drawn_on_one(board: TestClient) -> None:
    """With one front and one line of the original; the caption names what is left out."""
    asked = {"chart": "applications", "application": WER, "dataset": "mini"}
    page = board.get("/charts", params=asked).text
    assert "of 3 codecs on mini" in page
    assert "Not drawn, since run on another state of the dataset than most: Codec 3" in page
    assert front_of(board.get("/api/v1/charts/applications", params=asked).json()) == pytest.approx(
        [6.0, 7.0, 8.0], rel=0.011
    )


def test_senders_choose_the_state_and_complete_results_a_tie(board: TestClient, app: FastAPI) -> None:
    """Four codecs of one account are as one, whatever it has complete; short runs decide no tie."""
    entries = app.state.board.current.entries("runs")
    assert [entry.codec for entry in on_usual_state(entries, "mini")] == ["codec_0", "codec_1", "codec_2"]
    few = [entry for entry in entries if entry.codec in {"codec_0", "codec_5", "codec_6"}]
    assert [entry.codec for entry in on_usual_state(few, "mini")] == ["codec_0"]
    short = [entry if entry.codec == "codec_3" else as_partial(entry) for entry in entries]
    assert [entry.codec for entry in on_usual_state(short, "mini")] == ["codec_0", "codec_1", "codec_2"]


def test_who_ran_more_datasets_has_the_same_average(board: TestClient, app: FastAPI) -> None:
    """Of a figure over several datasets those that take part count: what else was run is no other state."""
    del board
    names = sorted({name for name, _ in AVERAGES["ultra_average"].parts})
    made = []
    entries = app.state.board.current.frame("speech", "", "runs").entries
    for entry, datasets in zip(entries, (names, [*names, "mini"]), strict=False):
        row = board_row(entry, "speech", "", None, "")
        figure = row.applications[WER]
        told = {"figure": "ultra_average", "probe": "ultra", "dataset": ""}
        figures = {"ultra_average": replace(figure, numbers=figure.numbers.model_copy(update=told))}
        summary = row.result.summary.model_copy(update={"datasets": tuple(datasets)})
        result = replace(row.result, summary=summary, states=dict.fromkeys(datasets, "a"))
        made.append(replace(row, result=result, applications=figures))
    assert on_usual_states(made, "ultra_average") == made
    other = replace(made[1], result=replace(made[1].result, states=dict.fromkeys(names, "b")))
    assert on_usual_states([*made, other], "ultra_average") == made
    figure = other.applications["ultra_average"]
    best = figure.numbers.model_copy(update={"resynthesis": Score(value=99.0, low=98.0, high=100.0)})
    other = replace(other, applications={"ultra_average": replace(figure, numbers=best)})
    drawn = board_chart([*made, other], APPLICATIONS["ultra_average"])["data"]
    assert 99.0 in [value for trace in drawn for value in trace["y"]]
    assert [99.0 in trace["y"] for trace in drawn if trace["meta"]["role"] == "front"] == [False]
