"""Differences with intervals, a row each."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest
from support.web.report import TABLE

from codec_superb.web.figures.forest import ROW_HEIGHT, ForestRow, forest_chart
from codec_superb.web.quantity import SCORE, from_metric
from codec_superb.web.rows import Gap

STFT = from_metric(TABLE["stft"])


def gap(difference: float, half: float | None, verdict: str) -> Gap:
    """Make a difference with its interval."""
    ends = (None, None) if half is None else (difference - half, difference + half)
    return Gap(0.5 + difference, 0.5, difference, *ends, 0.9, verdict)  # type: ignore[arg-type]  # a literal


ROWS = [
    ForestRow("mini, speech", "One", "opus", 10, gap(0.2, 0.05, "better")),
    ForestRow("mini, speech", "Two & <b>", "codec2", 10, gap(-0.1, 0.3, "unclear")),
    ForestRow("mini, music", "One", "opus", 1, gap(0.1, None, "unclear")),
    ForestRow("mini, music", "Two & <b>", "codec2", 0, None),
]


def test_is_a_figure_that_plotly_accepts() -> None:
    """Every attribute is one of Plotly's, also without rows."""
    assert len(go.Figure(forest_chart(ROWS, SCORE, "Base")).data) == 2
    assert len(go.Figure(forest_chart([], SCORE, "Base")).data) == 0


def test_marks_and_intervals_stand_at_their_values() -> None:
    """Position, both arms, and a row for each codec and group from top to bottom."""
    one, two = forest_chart(ROWS, SCORE, "Base")["data"]
    assert one["x"] == [0.2, 0.1]
    assert one["error_x"]["array"] == [pytest.approx(0.05), 0.0]
    assert one["error_x"]["arrayminus"] == [pytest.approx(0.05), 0.0]
    assert one["y"] == [4, 1]
    assert (two["x"], two["y"]) == ([-0.1], [3])


def test_groups_are_named_above_their_rows() -> None:
    """Headings have rows of their own, which the height counts."""
    layout = forest_chart(ROWS, SCORE, "Base")["layout"]
    assert [(note["y"], note["text"]) for note in layout["annotations"]] == [(5, "mini, speech"), (2, "mini, music")]
    assert layout["yaxis"]["tickvals"] == [0, 1, 3, 4]
    assert layout["yaxis"]["ticktext"][3] == "One"
    lower = forest_chart(ROWS[:2], SCORE, "Base")["layout"]["height"]
    assert layout["height"] - lower == 3 * ROW_HEIGHT


def test_filled_marks_are_clear() -> None:
    """What may be chance is open, and a family has its own shape in all groups."""
    one, two = forest_chart(ROWS, SCORE, "Base")["data"]
    assert one["marker"]["symbol"] == ["circle", "circle-open"]
    assert two["marker"]["symbol"] == ["square-open"]
    assert one["marker"]["color"] != two["marker"]["color"]


def test_right_is_better_and_zero_is_in_sight() -> None:
    """The axis of a distance is turned round; the line of no difference is always within it."""
    higher, lower = (forest_chart(ROWS[:1], quantity, "Base")["layout"] for quantity in (SCORE, STFT))
    low, high = higher["xaxis"]["range"]
    assert low < 0
    assert high > 0.25
    assert lower["xaxis"]["range"] == higher["xaxis"]["range"][::-1]
    assert (higher["shapes"][0]["x0"], higher["shapes"][0]["x1"]) == (0, 0)


def test_names_stay_text() -> None:
    """Plotly reads tags in texts; a name must not become one."""
    figure = forest_chart(ROWS, SCORE, "<i>Base</i>")
    assert "Two &amp; &lt;b&gt;" in figure["data"][1]["hovertext"][0]
    assert "&lt;i&gt;Base" in figure["layout"]["xaxis"]["title"]["text"]


def test_text_says_verdict_and_clips() -> None:
    """What the mark shows is also said."""
    one, two = forest_chart(ROWS, SCORE, "Base")["data"]
    assert "clearly better, over 10 clips" in one["hovertext"][0]
    assert "no clear difference, over 10 clips" in two["hovertext"][0]
