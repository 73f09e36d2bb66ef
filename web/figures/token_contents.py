"""What tokens carry, as a picture: phones upwards, speakers to the right, a point for each codec.

Semantic tokens stand above on the left, acoustic ones below or on the right. A thin line leads from the first codebook
to the mean of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from codec_superb.metrics.results import Score
from codec_superb.web.figures.layout import Figure, base_axis, base_layout
from codec_superb.web.rows import ApplicationRow, CodecResult, figure_label
from codec_superb.web.text import chart_text
from codec_superb.web.theme import LIGHT, Style, family_styles

PHONES, SPEAKERS = "tokens_phone_pnmi_pct", "tokens_speaker_pnmi_pct"
"""Figures that place a codec."""
LABEL_LENGTH = 24
"""Letters of a name in the chart."""
CORNERS = ("top right", "bottom right", "top left", "bottom left")
"""Places of the names of codecs at one point: nested codebooks at several bitrates share their first."""


class ContentsPoint(NamedTuple):
    """One codec on one dataset; figures are percent of a label's entropy, values there."""

    title: str
    style: Style
    phones: Score
    """Told by the first codebook."""
    speakers: Score
    mean: tuple[float, float] | None = None
    """Phones and speakers told by a codebook on average; None where it is not known."""
    detail: str = ""
    """Further text of the point: tokens a second, and on whose word it stands."""


def contents_points(codecs: Sequence[tuple[CodecResult, Mapping[str, ApplicationRow]]]) -> list[ContentsPoint]:
    """Return the codecs that have both figures; each comes with its figures of one dataset by key."""
    placed = [codec for codec in codecs if None not in (_told(codec[1], PHONES), _told(codec[1], SPEAKERS))]
    styles = family_styles(result.family for result, _ in placed)
    return [_point(result, rows, styles[result.family]) for result, rows in placed]


def _point(result: CodecResult, rows: Mapping[str, ApplicationRow], style: Style) -> ContentsPoint:
    phones, speakers = (_told(rows, f"{key.removesuffix('_pct')}_all_pct") for key in (PHONES, SPEAKERS))
    mean = None if phones is None or speakers is None else (phones, speakers)
    each, source = result.summary.tokens_per_second, figure_label(result.source, rows[PHONES], rows[SPEAKERS])
    detail = ", ".join(filter(None, ["" if each is None else f"{each:.0f} tokens a second", source]))
    said, by_whom = (rows[key].numbers.resynthesis for key in (PHONES, SPEAKERS))
    return ContentsPoint(result.title, style, said, by_whom, mean, detail)


def _told(rows: Mapping[str, ApplicationRow], key: str) -> float | None:
    found = rows.get(key)
    return None if found is None else found.numbers.resynthesis.value


def contents_chart(points: Sequence[ContentsPoint]) -> Figure:
    """Draw the codecs, in the order given, with their 95 % intervals."""
    places = [(point.speakers.value, point.phones.value) for point in points]
    traces = []
    for at, point in enumerate(points):
        traces += [*_line(point), _dot(point, CORNERS[places[:at].count(places[at]) % len(CORNERS)])]
    layout = {
        **base_layout(),
        "xaxis": base_axis("Speakers told by the first codebook (% of their entropy)"),
        "yaxis": base_axis("Phones told by the first codebook (% of their entropy)"),
    }
    return {"data": traces, "layout": layout}


def _dot(point: ContentsPoint, corner: str) -> dict[str, Any]:
    name = chart_text(point.title, LABEL_LENGTH)
    hover = f"{name}<br>phones {_percent(point.phones)}<br>speakers {_percent(point.speakers)}"
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "x": [point.speakers.value],
        "y": [point.phones.value],
        "error_x": _arms(point.speakers),
        "error_y": _arms(point.phones),
        "marker": {"size": 11, "color": point.style.colour, "symbol": point.style.symbol},
        "text": [name],
        "textposition": corner,
        "textfont": {"size": 12, "color": LIGHT.ink},
        "hovertext": [hover + (f"<br>{chart_text(point.detail)}" if point.detail else "")],
        "hoverinfo": "text",
    }


def _line(point: ContentsPoint) -> list[dict[str, Any]]:
    if point.mean is None:
        return []
    phones, speakers = point.mean
    name = chart_text(point.title, LABEL_LENGTH)
    return [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": [point.speakers.value, speakers],
            "y": [point.phones.value, phones],
            "line": {"width": 1, "color": point.style.colour},
            "marker": {"size": [0, 6], "color": point.style.colour},
            "hovertext": ["", f"{name}, mean of its codebooks<br>phones {phones:.1f} %<br>speakers {speakers:.1f} %"],
            "hoverinfo": "text",
        }
    ]


def _percent(found: Score) -> str:
    ends = "" if found.low is None or found.high is None else f" [{found.low:.1f}, {found.high:.1f}]"
    return f"{found.value:.1f} %{ends}"


def _arms(found: Score) -> dict[str, Any]:
    if found.value is None or found.low is None or found.high is None:
        return {"visible": False}
    return {
        "type": "data",
        "symmetric": False,
        "array": [found.high - found.value],
        "arrayminus": [found.value - found.low],
        "thickness": 1,
        "width": 0,
        "color": LIGHT.muted,
    }
