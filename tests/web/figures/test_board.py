"""The leaderboard's chart, for few codecs and for thousands."""

from __future__ import annotations

import json
from dataclasses import replace

import plotly.graph_objects as go
import pytest
from support.web.report import make_points, make_results
from support.web.results import application_row, changed, score

from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.board import MOST_CODECS, board_chart
from codec_superb.web.figures.pareto import pareto_front
from codec_superb.web.quantity import SCORE
from codec_superb.web.rows import BoardRow, CodecResult, ProbeModel, Source
from codec_superb.web.theme import family_style


def row(result: CodecResult, source: Source = "self-reported", **applications: float) -> BoardRow:
    """Make a row of the board."""
    label = "Table 3" if source == "published" else source
    figures = {
        key: application_row(
            result.codec, "mini", key, ProbeModel("x"), result.kbps, score(2.0), score(value), score(None)
        )
        for key, value in applications.items()
    }
    return BoardRow(
        result, source, label, None, "id", "2025-01-02", "", 48000, "classical",
        True, True, 0, "", figures,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results() -> list[CodecResult]:
    """Twelve lossy codecs and two lossless ones, on speech."""
    return make_results(make_points("speech", 12))


def many(results: list[CodecResult], count: int) -> list[BoardRow]:
    """Make many codecs of many families, of all bitrates and scores."""
    base = next(result for result in results if not result.lossless)
    made = []
    for number in range(count):
        value, kbps = score((number * 7919 % 1000) / 1000), 1.0 + number * 104729 % 640 / 10
        names = {"codec": f"c{number}", "title": f"c{number}", "family": f"f{number % 60}"}
        made.append(row(changed(base, kbps=kbps, score=value, **names)))
    return made


def test_few_codecs_are_lines_of_families(results: list[CodecResult]) -> None:
    """It is the chart of the report, with every family's line."""
    figure = board_chart([row(result) for result in results], SCORE)
    families = {trace["meta"]["family"] for trace in figure["data"] if trace["meta"]["role"] == "family"}
    assert families == {result.family for result in results if not result.lossless}


def test_published_figures_make_lines_of_their_own(results: list[CodecResult]) -> None:
    """A family's submissions and its published figures are never joined."""
    lossy = [result for result in results if not result.lossless]
    rows = [row(lossy[0]), row(changed(lossy[0], codec="table3:X", kbps=3.0), "published")]
    names = {trace["name"] for trace in board_chart(rows, SCORE)["data"] if trace["meta"]["role"] == "family"}
    assert names == {lossy[0].family, f"{lossy[0].family} (Table 3)"}


def test_thousands_are_points_and_a_front(results: list[CodecResult]) -> None:
    """Every codec is a point, the front is theirs, and the figure stays small enough to send."""
    rows = many(results, 2000)
    figure = board_chart(rows, SCORE)
    roles = {trace["meta"]["role"]: trace for trace in figure["data"]}
    assert "family" not in roles
    points = [trace for trace in figure["data"] if trace["meta"]["role"] == "points"]
    drawn = {address: trace for trace in points for address in trace["customdata"]}
    assert len(drawn) == sum(len(trace["x"]) for trace in points) == 2000
    rates, values = [r.result.kbps for r in rows], [r.result.summary.score.value or 0.0 for r in rows]
    front = pareto_front(rates, values)
    assert roles["front"]["y"] == [values[i] for i in front]
    shown = [rate for trace in figure["data"] if trace["meta"]["role"] == "front points" for rate in trace["x"]]
    assert sorted(shown) == sorted(rates[i] for i in front)
    seventh = drawn["/codecs/c7"]  # its family is named in the legend, in the family's own look
    look = family_style("f7")
    assert (seventh["name"], seventh["meta"]["family"], seventh["marker"]["color"]) == ("f7", "f7", look.colour)
    assert {symbol.removesuffix("-open") for symbol in seventh["marker"]["symbol"]} == {look.symbol}
    assert len(json.dumps(figure, separators=(",", ":"))) < 300_000
    assert len(go.Figure(figure).data) == len(figure["data"])


def test_lines_end_where_there_are_too_many(results: list[CodecResult]) -> None:
    """Up to the limit of codecs there are lines, beyond it none."""
    one = [replace(entry, result=replace(entry.result, family="f")) for entry in many(results, MOST_CODECS + 1)]
    assert any(trace["meta"]["role"] == "family" for trace in board_chart(one[:-1], SCORE)["data"])
    assert not any(trace["meta"]["role"] == "family" for trace in board_chart(one, SCORE)["data"])


def test_applications_are_drawn_with_up_being_better(results: list[CodecResult]) -> None:
    """A word error rate's axis is reversed; codecs without the application are left out."""
    lossy = [result for result in results if not result.lossless]
    rows = [row(lossy[0], asr_wer_pct=3.0), row(lossy[1], asr_wer_pct=9.0), row(lossy[2])]
    figure = board_chart(rows, APPLICATIONS["asr_wer_pct"])
    shown = [value for trace in figure["data"] if trace["meta"]["role"] == "family" for value in trace["y"]]
    assert sorted(shown) == [3.0, 9.0]
    bottom, top = figure["layout"]["yaxis"]["range"]
    assert top < min(shown)
    assert max(shown) < bottom


def test_no_row_is_an_empty_chart() -> None:
    """Nothing to draw says so."""
    assert board_chart([], SCORE)["layout"]["annotations"][0]["text"] == "No codec has a value here"
