"""The chart of clips."""

import plotly.graph_objects as go
from support.web.report import TABLE

from codec_superb.web.figures import AxisChoice, scatter_chart
from codec_superb.web.figures.scatter import ClipKey, clip_keys
from codec_superb.web.quantity import from_metric
from codec_superb.web.rows import ClipPoint

PESQ, MEL = from_metric(TABLE["pesq"]), from_metric(TABLE["mel"])


def point(codec: str, clip: str, dataset: str = "mini", **metrics: float) -> ClipPoint:
    """Make one clip of one codec."""
    return ClipPoint(codec, dataset, clip, "speech", 6.0, metrics)


POINTS = [
    point("a", "one", pesq=2.0, mel=1.0),
    point("a", "two", pesq=3.0, mel=0.5),
    point("a", "three", mel=0.7),
    point("b", "two", pesq=4.0, mel=0.2),
    point("b", "one", pesq=2.5, mel=0.4),
    point("b", "three", pesq=1.5, mel=0.3),
    point("b", "one", dataset="other", pesq=1.0),
]
A, B = AxisChoice("a", "Codec A", PESQ), AxisChoice("b", "Codec B", PESQ)


def test_is_a_figure_that_plotly_accepts() -> None:
    """Every attribute is one of Plotly's, with a value it allows."""
    assert len(go.Figure(scatter_chart(POINTS, A, B)).data) == 4


def test_pairs_the_same_clip_of_both_codecs() -> None:
    """Only clips with a value on both axes are drawn, matched by dataset and name."""
    dots = scatter_chart(POINTS, A, B)["data"][1]
    assert (dots["x"], dots["y"]) == ([2.0, 3.0], [2.5, 4.0])
    names = [clip_keys(POINTS)[number].clip for number in dots["customdata"]]
    assert names == ["one", "two"]


def test_clips_with_sound_are_set_apart() -> None:
    """A clip that can be heard is in the trace of its own."""
    _, silent, audible, _ = scatter_chart(POINTS, A, B, [ClipKey("mini", "two"), ClipKey("mini", "absent")])["data"]
    assert (silent["x"], audible["x"]) == ([2.0], [3.0])
    assert audible["marker"]["symbol"] != silent["marker"]["symbol"]


def test_diagonal_only_for_one_quantity() -> None:
    """The line of equal values spans all values, and is empty where the axes measure different things."""
    assert scatter_chart(POINTS, A, B)["data"][0]["x"] == [2.0, 4.0]
    assert scatter_chart(POINTS, A, AxisChoice("b", "Codec B", MEL))["data"][0]["x"] == []


def test_axes_name_codec_and_metric_and_turn_distances() -> None:
    """Up and right are better on both axes."""
    layout = scatter_chart(POINTS, A, AxisChoice("b", "Codec <B>", MEL))["layout"]
    assert layout["xaxis"]["title"]["text"] == "Codec A: PESQ (MOS-LQO)"
    assert layout["yaxis"]["title"]["text"].startswith("Codec &lt;B&gt;: Mel distance, lower is better")
    assert layout["yaxis"]["autorange"] == "reversed"


def test_text_names_the_clip_and_both_values() -> None:
    """A dot says which clip it is and what it scored."""
    text = scatter_chart(POINTS, A, B)["data"][1]["hovertext"][0]
    assert text == "<b>one</b><br>mini<br>Codec B, PESQ: 2.50<br>Codec A, PESQ: 2.00"
