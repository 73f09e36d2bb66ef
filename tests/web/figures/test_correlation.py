"""The heat map of correlations."""

from __future__ import annotations

import plotly.graph_objects as go

from codec_superb.web.figures.correlation import CELL, correlation_chart

COEFFICIENTS = [[1.0, -0.456, None], [-0.456, 1.0, 0.0], [None, 0.0, 1.0]]
COUNTS = [[9, 8, 2], [8, 9, 7], [2, 7, 9]]
FIGURE = correlation_chart(["PESQ", "STFT & <b>", "STOI"], COEFFICIENTS, COUNTS, "clips")


def test_is_a_figure_that_plotly_accepts() -> None:
    """Every attribute is one of Plotly's, also of an empty square."""
    assert len(go.Figure(FIGURE).data) == 1
    assert len(go.Figure(correlation_chart([], [], [], "codecs")).data) == 0


def test_cells_carry_their_numbers() -> None:
    """Colour from the value on a scale from -1 to 1, number in words, nothing where there is none."""
    (trace,) = FIGURE["data"]
    assert (trace["z"], trace["zmin"], trace["zmax"]) == (COEFFICIENTS, -1, 1)
    assert trace["text"][0] == ["1.00", "−0.46", "–"]
    assert trace["text"][1][2] == "0.00"


def test_the_first_is_at_the_top_left() -> None:
    """Rows run downwards, as in a table, and the height follows them."""
    layout = FIGURE["layout"]
    assert layout["yaxis"]["autorange"] == "reversed"
    assert layout["xaxis"]["ticktext"] == ["PESQ", "STFT &amp; &lt;b&gt;", "STOI"]
    lower = correlation_chart(["a"], [[1.0]], [[3]], "clips")["layout"]["height"]
    assert layout["height"] - lower == 2 * CELL


def test_text_says_over_how_many() -> None:
    """Both names, the coefficient with three digits, and n."""
    assert FIGURE["data"][0]["hovertext"][0][1] == "PESQ and STFT &amp; &lt;b&gt;<br><b>−0.456</b> over 8 clips"
    assert FIGURE["data"][0]["hovertext"][0][2].endswith("<b>–</b> over 2 clips")
