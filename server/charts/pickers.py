"""Pickers of a chart's form, with the choices that exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts.against_rate import application_source, source_of
from codec_superb.server.charts.defaults import entries_of_commonest_state, of_clips
from codec_superb.server.charts.rows import datasets_with, source_choices
from codec_superb.server.charts.spread import metric_keys
from codec_superb.server.leaderboard.select import quantity_of
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.across import AXES
from codec_superb.web.site.charts.choices import PICKERS, ChartState, Option, Picker
from codec_superb.web.site.whose import ShownSource

_Choices = Sequence[tuple[str, str]]
_OVER_CLIPS = ("clips", "distribution")


def pickers(snapshot: Snapshot, state: ChartState) -> list[Picker]:
    """Make the pickers of a chart but that of codecs, which is typed; ``state`` is what the chart shows."""
    made = []
    for name in PICKERS[state.chart]:
        if name in _OFFERS:
            label, offer = _OFFERS[name]
            chosen = str(getattr(state, name))
            options = [Option(value, text, value == chosen) for value, text in offer(snapshot, state)]
            made.append(Picker(name, label, options))
    return made


def codec_names(snapshot: Snapshot, state: ChartState) -> list[str]:
    """List the codecs whose clips can be shown."""
    if "codec" not in PICKERS[state.chart] or not state.dataset:
        return []
    _, shown = of_clips(snapshot, state)
    return [entry.codec for entry in entries_of_commonest_state(shown, state.dataset, state.category)]


def _categories(_snapshot: Snapshot, _state: ChartState) -> _Choices:
    return [(category, category.capitalize()) for category in CATEGORIES]


def _sources(snapshot: Snapshot, state: ChartState) -> _Choices:
    offered = source_choices(snapshot)
    return [each for each in offered if each[0] in get_args(ShownSource)] if state.chart in _OVER_CLIPS else offered


def _datasets(snapshot: Snapshot, state: ChartState) -> _Choices:
    if state.chart == "applications":  # whichever category of clips they use
        source = application_source(snapshot, state, state.application or next(iter(APPLICATIONS)))
        return [("", "All datasets of each codec"), *((name, name) for name in snapshot.datasets(source))]
    over_clips = state.chart in _OVER_CLIPS
    source = of_clips(snapshot, state)[0] if over_clips else source_of(snapshot, state)
    names = [(name, name) for name in datasets_with(snapshot, source, state.category)]
    return names if over_clips else [("", "All datasets of each codec"), *names]


def _metrics(snapshot: Snapshot, state: ChartState) -> _Choices:
    if state.chart == "distribution":
        keys = metric_keys(of_clips(snapshot, state)[1], state.category, state.dataset)
    else:
        frame = snapshot.frame(state.category, state.dataset, source_of(snapshot, state))
        keys = [key for key in frame.quantities() if key not in APPLICATIONS]
    return [(key, quantity_of(key).title) for key in keys]


def _methods(_snapshot: Snapshot, _state: ChartState) -> _Choices:
    return [("pearson", "Pearson (values)"), ("spearman", "Spearman (ranks)")]


def _applications(snapshot: Snapshot, _state: ChartState) -> _Choices:
    entries = snapshot.entries("all")
    there = {key for entry in entries for figures in entry.applications.values() for key in figures}
    return [(key, quantity.title) for key, quantity in APPLICATIONS.items() if key in there]


def _across(_snapshot: Snapshot, _state: ChartState) -> _Choices:
    return list(AXES.items())


_OFFERS: Mapping[str, tuple[str, Callable[[Snapshot, ChartState], _Choices]]] = {
    "category": ("Category", _categories),
    "source": ("Source", _sources),
    "dataset": ("Dataset", _datasets),
    "metric": ("Metric", _metrics),
    "method": ("Correlation", _methods),
    "application": ("Application", _applications),
    "across": ("Against", _across),
}
