"""Renders the report: one HTML text with its styles, scripts, data and sounds inside."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from math import isfinite

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from codec_superb.applications.errors import UnknownApplication
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, Metric
from codec_superb.web import text
from codec_superb.web.applications import application_of
from codec_superb.web.conditions import ConditionPart, condition_parts
from codec_superb.web.errors import ReportError
from codec_superb.web.figures.across import AXES
from codec_superb.web.figures.distribution import chart_height
from codec_superb.web.figures.rate import front_notes, rate_notes
from codec_superb.web.mseb.choose import is_mseb
from codec_superb.web.quantity import SCORE, Quantity, by_bitrate, from_metric, metrics_present
from codec_superb.web.report.applications import applications_panel
from codec_superb.web.report.columns import RankingTable, ranking_table
from codec_superb.web.report.mseb import mseb_panel
from codec_superb.web.report.payload import PanelPayload, panel_payload, to_json
from codec_superb.web.report.sections import (
    ListeningClip,
    RateMatrix,
    definitions,
    failure_groups,
    listening_clips,
    rate_matrix,
)
from codec_superb.web.report.tokens import tokens_panel
from codec_superb.web.report.understanding import understanding_panel
from codec_superb.web.report.xares import xares_panel
from codec_superb.web.rows import ClipPoint, CodecResult, ReportData
from codec_superb.web.theme import CEILING_SYMBOL, DARK, LIGHT, SYMBOL_PATHS, Style, family_styles
from codec_superb.web.understanding.choose import is_understanding

_SCRIPTS = ("unpack.js", "core.js", "tabs.js", "table.js", "charts.js", "scatter.js", "listening.js", "main.js")


@dataclass(frozen=True, slots=True)
class Panel:
    """One category as the template sees it."""

    category: Category
    results: Sequence[CodecResult]
    clips: int
    datasets: Sequence[str]
    quantities: Sequence[Quantity]
    """Overall score first, then metrics."""
    overall: Sequence[str]
    """Labels of the metrics in its overall score."""
    table: RankingTable
    families: Sequence[tuple[str, Style, bool]]
    """Family, style, whether all of it is lossless."""
    listening: Sequence[ListeningClip]
    rate_notes: str
    """What the caption of bitrates says of single codecs."""
    rates: RateMatrix | None
    conditions: Sequence[ConditionPart]
    payload: PanelPayload
    drawn: int
    """Clips in charts of single clips, where those are not all; 0 where they are."""
    spread_height: int


def render(data: ReportData, metrics: Mapping[str, Metric] | None = None) -> str:
    """Make the page: a complete HTML document that loads nothing, to be written as UTF-8.

    ``metrics`` is the metric table that gives labels, directions and definitions; by default the program's own.
    Raises :class:`~codec_superb.web.errors.ReportError` when the data contradict each other or the table.
    """
    table = METRICS if metrics is None else metrics
    check(data, table)
    styles = family_styles(row.family for row in [*data.results, *(row.result for row in data.conditions)])
    panels = [_panel(data, category, table, styles) for category in _categories(data)]
    mseb = mseb_panel([*data.applications, *data.slices], data.results, styles, data.examples)
    understanding = understanding_panel(data.applications, data.results, styles)
    xares = xares_panel(data.applications, data.results)
    tokens = tokens_panel(data.applications, data.counts, data.results)
    others = [row for row in data.applications if not is_mseb(row) and not is_understanding(row)]
    applications = applications_panel(others, data.results, styles) if others else None
    present = metrics_present(data.results, table)
    plotly = _plotly()
    scripts = {"first": _static("first.js"), "page": _page_script()}
    probed = {row.codec for row in others}
    payload = to_json(
        {panel.category: panel.payload for panel in panels},
        {"rate": applications.figures, "rate_tokens": applications.figures_tokens} if applications else {},
        {key: figure for part in (mseb, understanding, xares, tokens) if part for key, figure in part.figures.items()},
    )
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            data=data,
            panels=panels,
            applications=applications,
            mseb=mseb,
            understanding=understanding,
            xares=xares,
            tokens=tokens,
            application_families=_families([row for row in data.results if row.codec in probed], styles),
            definitions=definitions(present, {metric.key: from_metric(metric) for metric in present}),
            failures=failure_groups(data.failures),
            payload=_packed(payload),
            style=Markup(_static("multiples.css") + _static("report.css")),  # noqa: S704 - our own files
            scripts={name: Markup(script) for name, script in scripts.items()},  # noqa: S704 - our own files
            plotly=_packed(plotly),
            policy=_policy([*scripts.values(), plotly]),
            light=LIGHT,
            dark=DARK,
            text=text,
        )
    )
    # File names of invalid UTF-8 contain lone surrogates (PEP 383), which UTF-8 cannot encode.
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def _categories(data: ReportData) -> list[Category]:
    present = {row.summary.category for row in data.results}
    return [category for category in CATEGORIES if category in present]


def _drawn(results: Sequence[CodecResult], points: Sequence[ClipPoint]) -> int:
    """Count the clips that were drawn of a codec; 0 where each codec has all of its clips."""
    counts = Counter(point.codec for point in points)
    few = [counts[row.codec] for row in results if 0 < counts[row.codec] < row.summary.ok]
    return max(few, default=0)


def _panel(data: ReportData, category: Category, table: Mapping[str, Metric], styles: Mapping[str, Style]) -> Panel:
    results = by_bitrate([row for row in data.results if row.summary.category == category])
    points = [point for point in data.clips if point.category == category]
    listening = [clip for clip in data.listening if clip.category == category]
    rates = [rate for rate in data.rates if rate.category == category]
    metrics = metrics_present(results, table)
    quantities = [from_metric(metric) for metric in metrics]
    overall = [metric.label for metric in table.values() if category in metric.overall]
    payload = panel_payload(results, points, listening, quantities, styles)
    explanations = {metric.key: metric.definition for metric in metrics}
    explanations[SCORE.key] = f"Overall score from 0 to 1: harmonic mean of {', '.join(overall)}, each brought to 0–1."
    return Panel(
        category=category,
        results=results,
        clips=max(row.summary.clips for row in results),
        datasets=sorted({name for row in results for name in row.summary.datasets}),
        quantities=(SCORE, *quantities),
        overall=overall,
        table=ranking_table(results, quantities, explanations),
        families=_families([row for row in results if row.kbps > 0], styles),
        rate_notes=front_notes(results, SCORE) + rate_notes(results),
        listening=listening_clips(listening, results),
        rates=rate_matrix(rates) if rates else None,
        conditions=_conditions(data, category, styles),
        payload=payload,
        drawn=_drawn(results, points),
        spread_height=chart_height(len(results)),
    )


def _conditions(data: ReportData, category: Category, styles: Mapping[str, Style]) -> list[ConditionPart]:
    found = [row for row in data.conditions if row.result.summary.category == category]
    return condition_parts([row for row in found if not row.of.kind], [row for row in found if row.of.kind], styles)


def _families(results: Sequence[CodecResult], styles: Mapping[str, Style]) -> list[tuple[str, Style, bool]]:
    families = sorted({row.family for row in results}, key=str.casefold)
    return [(name, styles[name], all(row.lossless for row in results if row.family == name)) for name in families]


def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["axes"] = AXES
    made.globals["ceiling"] = SYMBOL_PATHS[CEILING_SYMBOL]
    return made


def _template(name: str) -> str:
    return files("codec_superb.web").joinpath("templates", name).read_text(encoding="utf-8")


def _static(name: str) -> str:
    return files("codec_superb.web").joinpath("static", name).read_text(encoding="utf-8")


def _page_script() -> str:
    """Join our scripts into one function, so that they share names with each other and with nothing else."""
    head = '(async () => {\n"use strict";\nif (!window.DecompressionStream) return;'
    parts = [head, *map(_static, _SCRIPTS), "})();"]
    return "\n".join(parts) + "\n"


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    return script


def _packed(text: str) -> str:
    """Write a text for ``unpack.js``: 4.9 MB of Plotly are 2.0 MB as base64 of zlib."""
    return b64encode(zlib.compress(text.encode(), 9)).decode()


def _policy(scripts: Iterable[str]) -> str:
    """Write the content security policy: only the page's own scripts run, by hash, and nothing is fetched."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; media-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def check(data: ReportData, table: Mapping[str, Metric]) -> None:
    """Raise :class:`ReportError` unless the data fit each other, the metric table and JSON."""
    if not data.results:
        raise ReportError("a report needs the clean result of at least one codec, got none: score a run first")
    repeated = [pair for pair, n in Counter((row.codec, row.summary.category) for row in data.results).items() if n > 1]
    if repeated:
        codec, category = repeated[0]
        raise ReportError(f"codec {codec!r} comes twice in category {category!r}: give each codec one result")
    for row in data.results:
        _check_result(row, table)
    known = {(row.codec, row.summary.category) for row in data.results}
    for point in data.clips:
        where = f"clip {point.clip!r} of {point.codec!r}"
        if (point.codec, point.category) not in known:
            raise ReportError(f"{where} has no result in category {point.category!r}: give the results of all clips")
        _check_keys(point.metrics, table, where)
        _check_finite(point.metrics.values(), where)
    _check_applications(data)


def _check_applications(data: ReportData) -> None:
    codecs = {row.codec for row in data.results}
    seen = set()
    for row in [*data.applications, *data.slices]:
        where = f"{row.numbers.figure} of {row.codec!r} on {row.numbers.dataset or 'all datasets'}"
        if row.codec not in codecs:
            raise ReportError(f"{where} has no result in any category: score the run too")
        try:
            application_of(row.numbers.figure)
        except UnknownApplication as error:
            raise ReportError(f"{where}: the table of applications lacks it: {error}") from error
        key = (row.codec, row.numbers.figure, row.numbers.dataset, row.numbers.slice, row.model)
        if key in seen:
            raise ReportError(f"{where} comes twice with {row.model.name}: give it once")
        seen.add(key)


def _check_result(row: CodecResult, table: Mapping[str, Metric]) -> None:
    _check_keys(row.summary.metrics, table, f"codec {row.codec!r} in {row.summary.category!r}")


def _check_keys(metrics: Mapping[str, object], table: Mapping[str, Metric], where: str) -> None:
    for key in metrics:
        if key not in table:
            raise ReportError(f"{where} has metric {key!r}, which the metric table lacks; it knows {', '.join(table)}")


def _check_finite(values: Iterable[float], where: str) -> None:
    for value in values:
        if not isfinite(value):
            raise ReportError(f"{where} has the value {value}, expected a finite number: leave undefined values out")
