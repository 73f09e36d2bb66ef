"""The chart of bitrate and quality, value by value."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples
from support.web.report import TABLE, make_points, make_results
from support.web.results import changed, score, summary

from codec_superb.web.figures import Figure, rate_chart
from codec_superb.web.figures.family_line import SAME_RATE, family_line
from codec_superb.web.figures.rate import ELSEWHERE, front_notes, marked_elsewhere, rate_notes
from codec_superb.web.quantity import SCORE, Quantity, from_metric
from codec_superb.web.rows import CodecResult
from codec_superb.web.theme import family_styles


@pytest.fixture(scope="module")
def results() -> list[CodecResult]:
    """Twelve lossy codecs and two lossless ones, on speech."""
    return make_results(make_points("speech", 12))


def chart(rows: list[CodecResult], quantity: Quantity = SCORE, *, lines: bool = True) -> Figure:
    """Draw with the styles of the rows' own families."""
    return rate_chart(rows, quantity, family_styles(row.family for row in rows), lines=lines)


def traces(figure: Figure, role: str) -> dict[str | None, dict[str, Any]]:
    """Pick the traces of one role, by family."""
    return {trace["meta"].get("family"): trace for trace in figure["data"] if trace["meta"]["role"] == role}


def one(codec: str, kbps: float, value: float | None, **changes: Any) -> CodecResult:
    """Make a codec of its own family."""
    found = score(value) if value is None else score(value, value - 0.02, value + 0.01)
    row = CodecResult(codec, codec, codec, None, lossless=False, summary=summary(kbps=kbps, clips=7, score=found))
    return changed(row, **changes)


def test_is_a_figure_that_plotly_accepts(results: list[CodecResult]) -> None:
    """Every attribute is one of Plotly's, with a value it allows."""
    for quantity in (SCORE, *(from_metric(TABLE[key]) for key in ("mel", "pesq", "si_sdr"))):
        assert len(go.Figure(chart(results, quantity)).data) > 5


def test_a_family_is_a_line_by_ascending_bitrate(results: list[CodecResult]) -> None:
    """Points of a family stand in order of measured bitrate with their own scores."""
    opus = traces(chart(results), "family")["Opus"]
    mine = sorted((row for row in results if row.family == "Opus"), key=lambda row: row.kbps)
    assert opus["x"] == [row.kbps for row in mine]
    assert opus["y"] == [row.summary.score.value for row in mine]
    assert opus["mode"] == "lines+markers"


def test_no_line_runs_upright() -> None:
    """Of variants within 2 % of a bitrate the line takes the best; the others are points by themselves."""
    places = ((6.0, 0.5), (12.0, 0.7), (12.1, 0.6), (12.23, 0.9), (24.0, 0.8), (12.25, 0.1))
    rows = [replace(one(f"own{number}", *place), family="own") for number, place in enumerate(places)]
    line, apart = (trace for trace in chart(rows)["data"] if trace["meta"]["role"] == "family")
    assert (line["mode"], line["x"]) == ("lines+markers", [6.0, 12.23, 24.0])
    assert (apart["mode"], apart["x"]) == ("markers", [12.0, 12.1, 12.25])
    assert apart["marker"]["color"] == line["line"]["color"]
    assert family_line([12.0, 12.0, 12.0], [0.5, 0.7, 0.6], higher_is_better=False) == [0]


@given(st.lists(st.tuples(st.floats(0.1, 600), st.floats(0, 1)), max_size=30))
@examples(200)
def test_lines_join_ascending_bitrates(points: list[tuple[float, float]]) -> None:
    """Along a line each bitrate is more than 2 % above the one before; what stands apart is nearer to one on it."""
    rates, values = [rate for rate, _ in points], [value for _, value in points]
    joined = [rates[n] for n in family_line(rates, values)]
    assert all(later > before * SAME_RATE for before, later in pairwise(joined))
    assert all(any(at / SAME_RATE <= rate <= at * SAME_RATE for at in joined) for rate in rates)


def test_intervals_reach_from_low_to_high() -> None:
    """Error bars are the distances from the value to the ends of its interval; an unknown interval has none."""
    figure = chart([one("a", 1, 0.5), one("b", 2, 0.6, score=score(0.6))])
    bars = traces(figure, "family")
    assert bars["a"]["error_y"]["array"] == pytest.approx([0.01])
    assert bars["a"]["error_y"]["arrayminus"] == pytest.approx([0.02])
    assert bars["b"]["error_y"]["array"] == [0.0]


def test_bitrate_axis_is_logarithmic_and_shows_all(results: list[CodecResult]) -> None:
    """The range, in powers of ten, holds every codec; ticks are powers of two."""
    axis = chart(results)["layout"]["xaxis"]
    rates = [row.kbps for row in results]
    assert axis["type"] == "log"
    assert axis["range"][0] < math.log10(min(rates)) < math.log10(max(rates)) < axis["range"][1]
    assert 16.0 in axis["tickvals"]
    assert len([text for text in axis["ticktext"] if text]) <= 8


def test_up_is_better_for_scores_and_distances(results: list[CodecResult]) -> None:
    """A distance's axis is reversed and says so; that of a score is not."""
    low, high = chart(results)["layout"]["yaxis"]["range"]
    assert low < high
    axis = chart(results, from_metric(TABLE["mel"]))["layout"]["yaxis"]
    assert axis["range"][0] > axis["range"][1]
    assert axis["title"]["text"] == "Mel distance, lower is better (axis reversed)"


def test_front_is_of_lossy_codecs() -> None:
    """The front joins unbeaten lossy codecs; a lossless one is a star outside it."""
    rows = [one("a", 1, 0.5), one("b", 2, 0.4), one("c", 4, 0.8), one("flac", 400, 1.0, lossless=True)]
    figure = chart(rows)
    front = traces(figure, "front")[None]
    assert (front["x"], front["y"], front["line"]["shape"]) == ([1, 4], [0.5, 0.8], "hv")
    assert traces(figure, "ceiling")["flac"]["marker"]["symbol"] == ["star"]


def test_who_chose_the_clips_is_on_no_front() -> None:
    """A partial codec is beside a front of complete ones, however good; where all are partial they have one."""
    partial = [changed(one(name, kbps, value), complete=False) for name, kbps, value in (("p", 1, 0.9), ("q", 2, 0.95))]
    whole = [one("a", 1, 0.5), one("b", 4, 0.8)]
    assert traces(chart([*whole, *partial]), "front")[None]["y"] == [0.5, 0.8]
    assert traces(chart(partial), "front")[None]["y"] == [0.9, 0.95]


def test_front_of_a_distance_follows_small_values(results: list[CodecResult]) -> None:
    """With a distance on the axis, values along the front fall as the bitrate grows."""
    values = traces(chart(results, from_metric(TABLE["mel"])), "front")[None]["y"]
    assert values == sorted(values, reverse=True)
    assert len(values) > 3


def test_incomplete_codecs_are_open_marks_that_say_why() -> None:
    """A codec with failed clips is drawn open, and its text counts them."""
    trace = traces(chart([one("a", 1, 0.5, complete=False, failed=2)]), "family")["a"]
    assert trace["marker"]["symbol"][0].endswith("-open")
    assert "incomplete: 2 clips failed" in trace["hovertext"][0]


def test_hover_says_name_bitrate_value_interval_and_clips() -> None:
    """Everything about a point can be read from it, and of thousands on whose word they stand."""
    row = replace(one("a", 12.34, 0.5, nominal_kbps=12.0), source="self-reported by A<b>")
    text = traces(chart([row]), "family")["a"]["hovertext"][0]
    assert text == (
        "<b>a</b><br>12.3 kbps measured, 12.0 nominal<br>Overall score: <b>0.500</b>  [0.480, 0.510]<br>over 7 clips"
        "<br>self-reported by A&lt;b&gt;"
    )
    short = traces(chart([row], lines=False), "points")["a"]["hovertext"][0]
    assert short == "<b>a</b><br>0.500<br>self-reported by A&lt;b&gt;"


def test_codecs_without_value_or_bitrate_are_left_out() -> None:
    """Nothing is drawn at a made-up place."""
    figure = chart([one("a", 1, None), one("b", 0.0, 0.5)])
    assert figure["data"] == []
    assert go.Figure(figure).layout.xaxis.type == "log"


def test_names_are_plain_text() -> None:
    """A name cannot bring Plotly tags, and so no link, into the chart."""
    figure = chart([one('<a href="https://x.example">&amp;', 1, 0.5)])
    shown = traces(figure, "family").popitem()[1]["hovertext"][0]
    assert "&lt;a href" in shown
    assert "&amp;amp;" in shown
    assert "<a" not in shown


def test_names_stand_at_codecs_of_the_front(results: list[CodecResult]) -> None:
    """Labels belong to codecs of the front or ceilings, at their places."""
    figure = chart(results)
    front = traces(figure, "front")[None]
    lossless = {row.kbps for row in results if row.lossless}
    places = [x for trace in traces(figure, "names").values() for x in trace["x"]]
    assert len(places) >= 4
    assert set(places) <= set(front["x"]) | lossless


@pytest.mark.parametrize("rate", [0.7, 11.4, 16.0, 31.9, 1411.2])
def test_one_codec_has_a_scale(rate: float) -> None:
    """The bitrate axis of a single codec still has two labelled lines, one on each side or under the codec."""
    axis = chart([one("a", rate, 0.5)])["layout"]["xaxis"]
    assert len([label for label in axis["ticktext"] if label]) >= 2
    assert min(axis["tickvals"]) <= rate <= max(axis["tickvals"])


def test_a_chart_without_values_says_so() -> None:
    """No axis with numbers that nobody measured."""
    layout = chart([one("a", 16, None)])["layout"]
    assert not layout["xaxis"]["visible"]
    assert not layout["yaxis"]["visible"]
    assert layout["annotations"][0]["text"] == "No codec has a value here"
    assert go.Figure(chart([one("a", 16, None)]))


def test_declared_bitrates_have_a_mark_of_their_own() -> None:
    """Open with a dot, outside the front, and named by axis and caption; a codec without a bitrate is named too."""
    measured, declared = one("a", 12.0, 0.6), replace(one("mine", 6.0, 0.9), bit_source="declared")
    unknown = replace(changed(one("theirs", 1.0, 0.9), kbps=None), bit_source="unknown")
    rows = [measured, declared, unknown]
    figure = chart(rows)
    assert traces(figure, "family")["mine"]["marker"]["symbol"][0].endswith("-open-dot")
    assert traces(figure, "front")[None]["x"] == [12.0]
    go.Figure(figure)
    assert figure["layout"]["xaxis"]["title"]["text"] == "Bitrate, measured or declared (kbps, logarithmic)"
    assert chart([declared])["layout"]["xaxis"]["title"]["text"] == "Declared bitrate (kbps, logarithmic)"
    assert rate_notes(rows) == (
        " Open marks with a dot: bitrate declared, not measured; they are outside the front."
        " Without a bitrate, and so not drawn: theirs."
    )
    assert rate_notes([measured]) == ""


def test_points_far_from_all_others_leave_them_room() -> None:
    """They stand at the edge as arrows with their true bitrate, on the front as before; one line counts them."""
    rows = [one(f"codec{number}", 2.0 * 1.4**number, 0.5 + number / 40) for number in range(10)]
    usual = chart(rows)["layout"]["xaxis"]["range"]
    far = [one("tiny", 0.00002, 0.4), one("huge", 9e6, 0.9, complete=False)]
    figure = chart([*rows, *far])
    go.Figure(figure)
    assert figure["layout"]["xaxis"]["range"] == usual
    drawn = traces(figure, "family")
    for name, symbol, told in (("tiny", "arrow-bar-left", "0.00002"), ("huge", "arrow-bar-right-open", "9000000")):
        assert drawn[name]["marker"]["symbol"] == [symbol]
        assert usual[0] < math.log10(drawn[name]["x"][0]) < usual[1]
        assert told in drawn[name]["hovertext"][0].replace(",", "").replace("\u202f", "")
    assert traces(figure, "front")[None]["y"][0] == 0.4
    assert {"tiny", "huge"}.isdisjoint(traces(figure, "names"))
    (note,) = figure["layout"]["annotations"]
    assert note["text"] == "2 codecs outside the axis: arrows at its end"
    assert "annotations" not in chart([*rows, one("low", 0.04, 0.4), one("flac", 900.0, 1.0, lossless=True)])["layout"]
    (note,) = chart([*rows, one("flac", 700.0, 1.0, lossless=True), one("wasteful", 900.0, 0.5)])["layout"][
        "annotations"
    ]
    assert note["text"].startswith("1 codec outside")
    low = [one(f"low{number}", kbps, 0.5) for number, kbps in enumerate((0.75, 1.5, 1.5, 3.0))]
    assert "annotations" not in chart([*low, one("anchor", 128.0, 0.9)])["layout"]


def test_codecs_of_one_sender_move_no_axis() -> None:
    """Of five senders or more each counts once for what is far; of fewer each codec, since one may be half."""
    rows = [replace(one(f"codec{number}", 2.0 * 1.4**number, 0.6), sender=f"s{number % 4}") for number in range(8)]
    usual = chart(rows)["layout"]["xaxis"]["range"]
    tiny = [replace(one(f"tiny{number:02}", 0.002, 0.5), sender="s5") for number in range(30)]
    assert chart([*rows, *tiny])["layout"]["xaxis"]["range"] == usual
    assert chart([*rows, replace(tiny[0], sender="s3")])["layout"]["xaxis"]["range"] == usual


def test_front_is_of_codecs_on_the_same_datasets() -> None:
    """An easier dataset takes nobody's place: the front is of the datasets that most senders have results on."""
    usual = [replace(one(name, kbps, value), sender=name) for name, kbps, value in (("a", 8, 0.6), ("b", 16, 0.8))]
    easy = [
        replace(one(f"easy{number}", 4.0, 0.9, datasets=on), sender="c")
        for number, on in enumerate((("easy",), ("easy",), ("easy", "mini")))
    ]
    assert traces(chart([*usual, *easy]), "front")[None]["y"] == [0.6, 0.8]
    assert front_notes([*usual, *easy], SCORE).endswith("definitions): easy0, easy1, easy2.")
    assert front_notes(usual, SCORE) == ""
    bare = [replace(one(row.codec, row.kbps, None), sender=row.sender) for row in usual]
    assert set(traces(chart([*bare, *easy[:2]]), "front")[None]["y"]) == {0.9}
    assert front_notes([*bare, *easy[:2]], SCORE) == ""  # none outside of what is drawn
    parts = [replace(one(f"part{n}", 2.0, 0.95, datasets=("easy",), complete=False), sender=f"p{n}") for n in range(3)]
    assert traces(chart([*usual, *parts]), "front")[None]["y"] == [0.6, 0.8]  # more senders, of a few clips each
    assert front_notes([*usual, *parts], SCORE).endswith("definitions): part0, part1, part2.")


def test_codecs_measured_elsewhere_are_open_marks_beside_their_line() -> None:
    """On another dataset a value is another one: the line of a family joins those that are measured alike."""
    usual = [replace(one(f"a{kbps}", kbps, kbps / 20), sender="s", family="a") for kbps in (8, 16)]
    easy = replace(one("easy", 12.0, 0.9, datasets=("easy",)), sender="t", family="a")
    marked = marked_elsewhere([*usual, easy], SCORE)
    assert [row.apart for row in marked] == ["", "", ELSEWHERE]
    line, beside = [each for each in chart(marked)["data"] if each["meta"]["role"] == "family"]
    assert (line["x"], beside["x"]) == ([8, 16], [12.0])
    assert beside["marker"]["symbol"][0].endswith("-open")
    assert ELSEWHERE in beside["hovertext"][0]
