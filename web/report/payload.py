"""The JSON data of the report's script: figures as first drawn, and every clip's values once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log
from typing import Any, TypedDict

from codec_superb.web.figures import (
    AxisChoice,
    Figure,
    Quantiles,
    distribution_chart,
    quantiles_of,
    rate_chart,
    scatter_chart,
)
from codec_superb.web.figures.across import TITLES, TOKENS, has_tokens, placed
from codec_superb.web.figures.layout import value_axis
from codec_superb.web.figures.scatter import ClipKey, clip_keys
from codec_superb.web.quantity import SCORE, Quantity, by_bitrate
from codec_superb.web.rows import ClipPoint, CodecResult, ReportSample
from codec_superb.web.text import chart_text
from codec_superb.web.theme import DARK, LIGHT, Style


class ScatterStart(TypedDict):
    """Initial choices of the scatter's pickers: numbers of codecs, keys of metrics."""

    x_codec: int
    x_metric: str
    y_codec: int
    y_metric: str


class PanelPayload(TypedDict):
    """Figures and values of one category."""

    rate: dict[str, Figure]
    """By quantity."""
    rate_tokens: dict[str, Figure]
    """The same against tokens a second; none where no codec has tokens."""
    spread: dict[str, Figure]
    """By metric."""
    scatter: Figure | None
    start: ScatterStart | None
    codecs: list[dict[str, str]]
    """``title``, and ``label``: the title made plain for Plotly."""
    metrics: dict[str, dict[str, Any]]
    clips: list[list[Any]]
    """Dataset, clip, number of its listening entry or None."""
    values: list[dict[str, list[float | None]]]
    """Per codec and metric, aligned with ``clips``."""


def panel_payload(
    results: Sequence[CodecResult],
    points: Sequence[ClipPoint],
    listening: Sequence[ReportSample],
    metrics: Sequence[Quantity],
    styles: Mapping[str, Style],
) -> PanelPayload:
    """Build one category; all rows given are of it."""
    ordered = by_bitrate(results)
    of_tokens = [placed(row, TOKENS) for row in ordered if has_tokens(row)]
    values = _values_by_codec(points)
    start = _start(ordered, metrics, values)
    keys = clip_keys(points)
    heard = {ClipKey(clip.dataset, clip.clip): index for index, clip in enumerate(listening)}
    return {
        "rate": {quantity.key: rate_chart(ordered, quantity, styles) for quantity in (SCORE, *metrics)},
        "rate_tokens": {
            quantity.key: rate_chart(of_tokens, quantity, styles, across=TITLES[TOKENS])
            for quantity in (SCORE, *metrics)
            if of_tokens
        },
        "spread": {
            metric.key: distribution_chart(ordered, _summaries(values, metric.key), metric, styles)
            for metric in metrics
            if points
        },
        "scatter": _scatter(points, ordered, metrics, start, list(heard)),
        "start": start,
        "codecs": [{"title": row.title, "label": chart_text(row.title, 32)} for row in ordered],
        "metrics": {
            metric.key: {"label": chart_text(metric.label), "decimals": metric.decimals, "axis": value_axis(metric)}
            for metric in metrics
        },
        "clips": [[key.dataset, key.clip, heard.get(key)] for key in keys],
        "values": [_columns(values.get(row.codec, {}), keys, metrics) for row in ordered],
    }


def to_json(
    panels: Mapping[str, PanelPayload],
    applications: Mapping[str, Mapping[str, Figure]] | None = None,
    figures: Mapping[str, Figure] | None = None,
) -> str:
    """Write the payload escaped for a ``<script>`` element, whatever names it holds.

    ``applications`` are the figures of applications by axis and group, ``figures`` those of MSEB and of understanding
    by name.
    """
    themes = {"light": LIGHT.colours(), "dark": DARK.colours()}
    text = json.dumps(
        {"themes": themes, "panels": panels, "applications": applications or {}, "figures": figures or {}},
        allow_nan=False,
        separators=(",", ":"),
    )
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


_Values = dict[str, dict[ClipKey, float]]


def _values_by_codec(points: Sequence[ClipPoint]) -> dict[str, _Values]:
    """Sort values by codec, metric and clip."""
    values: dict[str, _Values] = defaultdict(lambda: defaultdict(dict))
    for point in points:
        key = ClipKey(point.dataset, point.clip)
        for metric, value in point.metrics.items():
            values[point.codec][metric][key] = value
    return values


def _summaries(values: Mapping[str, _Values], metric: str) -> dict[str, Quantiles]:
    found = {codec: quantiles_of(list(columns.get(metric, {}).values())) for codec, columns in values.items()}
    return {codec: summary for codec, summary in found.items() if summary is not None}


def _columns(values: _Values, keys: list[ClipKey], metrics: Sequence[Quantity]) -> dict[str, list[float | None]]:
    columns = {}
    for metric in metrics:
        column = values.get(metric.key, {})
        if column:
            # Six digits are finer than any metric's own repeatability, and half the size.
            columns[metric.key] = [float(f"{column[key]:.6g}") if key in column else None for key in keys]
    return columns


def _start(
    ordered: Sequence[CodecResult], metrics: Sequence[Quantity], values: Mapping[str, _Values]
) -> ScatterStart | None:
    """Begin with two codecs of different families at about the same, middle bitrate, where clips differ most."""
    drawn = [metric for metric in metrics if any(metric.key in columns for columns in values.values())]
    with_clips = [i for i, row in enumerate(ordered) if row.codec in values and row.kbps > 0]
    lossy = [i for i in with_clips if not ordered[i].lossless] or with_clips
    if not drawn or not lossy:
        return None
    metric = next((metric for metric in drawn if metric.higher_is_better), drawn[0]).key
    middle = lossy[len(lossy) // 2]
    others = [i for i in lossy if ordered[i].family != ordered[middle].family] or lossy
    nearest = min(others, key=lambda i: abs(log(ordered[i].kbps / ordered[middle].kbps)))
    return {"x_codec": nearest, "x_metric": metric, "y_codec": middle, "y_metric": metric}


def _scatter(
    points: Sequence[ClipPoint],
    ordered: Sequence[CodecResult],
    metrics: Sequence[Quantity],
    start: ScatterStart | None,
    heard: Sequence[ClipKey],
) -> Figure | None:
    if start is None:
        return None
    by_key = {metric.key: metric for metric in metrics}
    x_row, y_row = ordered[start["x_codec"]], ordered[start["y_codec"]]
    x = AxisChoice(x_row.codec, x_row.title, by_key[start["x_metric"]])
    y = AxisChoice(y_row.codec, y_row.title, by_key[start["y_metric"]])
    return scatter_chart(points, x, y, heard)
