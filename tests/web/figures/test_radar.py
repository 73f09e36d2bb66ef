"""A codec against its bitrate band."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from codec_superb.metrics.table import METRICS
from codec_superb.web.figures.radar import AxisValue, RadarAxis, radar_chart
from codec_superb.web.quantity import from_metric


def axis(key: str, own: AxisValue, median: AxisValue, worst: AxisValue, best: AxisValue, others: int = 4) -> RadarAxis:
    """Make an axis of a metric."""
    return RadarAxis(from_metric(METRICS[key]), "a scale", own, median, worst, best, others)


AXES = [
    axis("pesq", AxisValue(3.0, 0.7), AxisValue(2.5, 0.6), AxisValue(2.0, 0.5), AxisValue(3.5, 0.8)),
    axis("stoi", AxisValue(0.9, 0.9), AxisValue(0.8, 0.8), AxisValue(0.7, 0.7), AxisValue(0.95, 0.95)),
    axis("stft", AxisValue(2.0, 0.62), AxisValue(1.5, 0.66), AxisValue(3.0, 0.58), AxisValue(1.0, 0.73), others=3),
]


def test_is_a_figure_that_plotly_accepts() -> None:
    """Every attribute is one of Plotly's, with a value it allows."""
    assert len(go.Figure(radar_chart("Opus", AXES)).data) == 4


def test_outward_is_better_and_lines_return_to_their_start() -> None:
    """Radii are places on the axes, from 0 (worst) to 1 (best), not values; the first point is also the last."""
    worst, best, median, own = radar_chart("Opus", AXES)["data"]
    assert own["r"] == [0.7, 0.9, 0.62, 0.7]
    assert median["r"] == [0.6, 0.8, 0.66, 0.6]
    assert (worst["r"][:3], best["r"][:3]) == ([0.5, 0.7, 0.58], [0.8, 0.95, 0.73])
    assert best["fill"] == "tonext"
    assert "fill" not in worst
    assert own["theta"] == ["PESQ", "STOI", "STFT<br>distance", "PESQ"]
    assert radar_chart("Opus", AXES)["layout"]["polar"]["radialaxis"]["range"] == [0, 1]


def test_points_tell_values_with_their_units() -> None:
    """The text of a point has the codec's own value, its place, and the band's median and range."""
    text = radar_chart("Opus", AXES)["data"][-1]["hovertext"][0]
    assert text == (
        "<b>PESQ (MOS-LQO)</b><br>Opus: <b>3.00</b>, 0.70 on the axis<br>"
        "median of 4 other codecs: 2.50<br>worst 2.00, best 3.50"
    )


def test_without_a_band_the_codec_stands_alone() -> None:
    """No ring and no median are made up."""
    alone = [replace(axis, median=None, worst=None, best=None, others=0) for axis in AXES]
    (own,) = radar_chart("Opus", alone)["data"]
    assert own["name"] == "Opus"


def test_a_metric_that_the_band_lacks_leaves_a_gap() -> None:
    """The ring is interrupted where no other codec has the metric."""
    axes = [AXES[0], replace(AXES[1], median=None, worst=None, best=None, others=0), AXES[2]]
    median = radar_chart("Opus", axes)["data"][2]
    assert median["r"] == [0.6, None, 0.66, 0.6]


def test_two_metrics_are_no_radar() -> None:
    """Fewer than three axes enclose nothing: the figure says so instead."""
    figure = radar_chart("Opus", AXES[:2])
    assert figure["data"] == []
    assert "three metrics" in figure["layout"]["annotations"][0]["text"]


def test_a_name_is_never_mark_up() -> None:
    """Plotly reads tags in texts: they are written as text."""
    figure = radar_chart("<b>bad</b> & co", AXES)
    assert figure["data"][-1]["name"] == "&lt;b&gt;bad&lt;/b&gt; &amp; co"
    assert "<b>bad" not in figure["data"][-1]["hovertext"][0]
