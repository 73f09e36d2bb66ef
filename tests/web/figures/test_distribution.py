"""Boxes of one metric over the clips."""

import plotly.graph_objects as go
import pytest
from support.web.report import TABLE, make_points, make_results

from codec_superb.web.figures import Figure, Quantiles, distribution_chart, quantiles_of
from codec_superb.web.figures.distribution import chart_height
from codec_superb.web.quantity import from_metric
from codec_superb.web.rows import CodecResult
from codec_superb.web.theme import family_styles

PESQ = from_metric(TABLE["pesq"])

Drawn = tuple[list[CodecResult], dict[str, Quantiles], Figure]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """Draw PESQ: results, summaries and chart, one codec without a value."""
    points = make_points("speech", 12)
    results = make_results(points)
    values: dict[str, list[float]] = {row.codec: [] for row in results}
    for point in points:
        if "pesq" in point.metrics and point.codec != "opus_12k":
            values[point.codec].append(point.metrics["pesq"])
    found = {codec: quantiles_of(numbers) for codec, numbers in values.items()}
    summaries = {codec: summary for codec, summary in found.items() if summary}
    return results, summaries, distribution_chart(results, summaries, PESQ, family_styles(r.family for r in results))


def test_summary_of_known_values() -> None:
    """Quantiles of 0 to 100 are the numbers themselves."""
    s = quantiles_of([float(value) for value in reversed(range(101))])
    assert s
    assert (s.n, s.minimum, s.p5, s.q1, s.median, s.q3, s.p95, s.maximum) == (101, 0, 5, 25, 50, 75, 95, 100)


def test_summary_of_nothing_is_none() -> None:
    """Without values there is no box."""
    assert quantiles_of([]) is None


def test_is_a_figure_that_plotly_accepts(drawn: Drawn) -> None:
    """Every attribute is one of Plotly's, with a value it allows."""
    assert len(go.Figure(drawn[2]).data) > 5


def test_boxes_carry_the_summaries(drawn: Drawn) -> None:
    """Each box stands in its codec's row with that codec's quantiles."""
    results, summaries, figure = drawn
    order = sorted(results, key=lambda row: row.kbps)
    boxes = [trace for trace in figure["data"] if trace["type"] == "box"]
    seen = {
        y: (trace["q1"][i], trace["median"][i], trace["upperfence"][i])
        for trace in boxes
        for i, y in enumerate(trace["y"])
    }
    for height, row in enumerate(order):
        if row.codec in summaries:
            s = summaries[row.codec]
            assert seen[height] == (s.q1, s.median, s.p95)
        else:
            assert height not in seen


def test_rows_are_named_and_stay_in_place(drawn: Drawn) -> None:
    """Every codec has its row, even without a value, and the chart is as high as its rows need."""
    results, _, figure = drawn
    axis = figure["layout"]["yaxis"]
    assert axis["ticktext"][0] == "Codec2 700C"
    assert len(axis["tickvals"]) == len(results)
    assert figure["layout"]["height"] == chart_height(len(results))


def test_right_is_better(drawn: Drawn) -> None:
    """A distance's axis runs backwards."""
    results = drawn[0]
    figure = distribution_chart(results, {}, from_metric(TABLE["stft"]), family_styles(r.family for r in results))
    assert figure["layout"]["xaxis"]["autorange"] == "reversed"
    assert drawn[2]["layout"]["xaxis"]["autorange"] is True


def test_text_gives_the_quantiles(drawn: Drawn) -> None:
    """The text of a box names codec, median and clips."""
    texts = [text for trace in drawn[2]["data"] for text in trace.get("hovertext", [])]
    mine = next(text for text in texts if text.startswith("<b>MP3 32<"))
    assert f"median <b>{drawn[1]['mp3_32k'].median:.2f}</b> over 11 clips" in mine
