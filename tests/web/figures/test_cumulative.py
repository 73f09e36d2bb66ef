"""Which share of the clips reaches a value."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from codec_superb.metrics.table import METRICS
from codec_superb.web.figures.cumulative import POINTS, cumulative_chart, share_reaching
from codec_superb.web.quantity import from_metric

PESQ, STFT = from_metric(METRICS["pesq"]), from_metric(METRICS["stft"])


def test_shares_where_higher_is_better() -> None:
    """Every clip reaches the worst value, one in four the best."""
    curve = share_reaching("mini", [3.0, 1.0, 2.0, 4.0], higher_is_better=True)
    assert curve.values == (1.0, 2.0, 3.0, 4.0)
    assert curve.shares == (1.0, 0.75, 0.5, 0.25)


def test_shares_where_lower_is_better() -> None:
    """The worst value is the highest, and comes first."""
    curve = share_reaching("mini", [3.0, 1.0, 2.0, 4.0], higher_is_better=False)
    assert curve.values == (4.0, 3.0, 2.0, 1.0)
    assert curve.shares == (1.0, 0.75, 0.5, 0.25)


def test_shares_are_those_counted_clip_by_clip() -> None:
    """At each point of a long curve the share is the count of clips that are as good, over all."""
    values = np.random.default_rng(3).normal(size=5000)
    curve = share_reaching("mini", values.tolist(), higher_is_better=True)
    assert len(curve.values) == POINTS
    for value, share in zip(curve.values, curve.shares, strict=True):
        assert share == pytest.approx(np.mean(values >= value), abs=1e-12)
    assert curve.values[-1] == values.max()


def test_no_value_is_an_error() -> None:
    """A line of nothing would look like a line."""
    with pytest.raises(ValueError, match="at least one value"):
        share_reaching("mini", [], higher_is_better=True)


def test_chart_has_a_line_a_dataset_and_right_is_better() -> None:
    """Datasets differ in colour and dash; the axis of a distance is reversed; shares are in percent."""
    curves = [share_reaching(name, [1.0, 2.0, 4.0], higher_is_better=False) for name in ("one", "two")]
    figure = cumulative_chart(curves, STFT)
    first, second = figure["data"]
    assert first["y"] == [100.0, 66.67, 33.33]
    assert (first["line"]["color"], first["line"]["dash"]) != (second["line"]["color"], second["line"]["dash"])
    assert figure["layout"]["xaxis"]["autorange"] == "reversed"
    assert figure["layout"]["showlegend"]
    assert first["hovertext"][1] == "<b>one</b><br><b>66.7 %</b> of 3 clips: at most 2.00"
    assert len(go.Figure(figure).data) == 2


def test_a_single_clip_is_a_point_and_nothing_says_so() -> None:
    """One value is a mark; no value is told in words."""
    (point,) = cumulative_chart([share_reaching("<i>one</i>", [2.0], higher_is_better=True)], PESQ)["data"]
    assert point["mode"] == "markers"
    assert point["name"] == "&lt;i&gt;one&lt;/i&gt;"
    empty = cumulative_chart([], PESQ)
    assert empty["data"] == []
    assert empty["layout"]["annotations"][0]["text"] == "No clip has a value here"
