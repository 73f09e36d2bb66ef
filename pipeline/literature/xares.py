"""The published boards of XARES-LLM: encoders by track, with their averages.

Their rows are encoders on original recordings, not codecs, so they are no :class:`PublishedTable` and enter no board of
codecs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from statistics import fmean
from typing import Any, Literal, get_args

from codec_superb.pipeline.literature.read import read_description, read_figures
from codec_superb.pipeline.literature.uea import PublishedModel

TrackName = Literal["a", "b"]
TRACKS: tuple[TrackName, ...] = get_args(TrackName)
HIDDEN = "hidden"
"""Mean over the hidden tasks of track B, two of which are printed nowhere."""
_MEANS = ("public", HIDDEN)
_PUBLIC = {"a": 15, "b": 5}


@cache
def xares_about() -> Mapping[str, Any]:
    """Read what the source is."""
    return read_description("xares")


@cache
def xares_board(track: TrackName) -> tuple[PublishedModel, ...]:
    """Read the rows of a track as they were published, percent."""
    return tuple(_model(line) for line in read_figures(f"xares_{track}"))


@cache
def xares_baselines(track: TrackName) -> Mapping[str, Mapping[str, float]]:
    """Read the publisher's own encoders on the public tasks, percent, by encoder and task."""
    lines = read_figures(f"xares_baselines_{track}")
    return {line.pop("encoder"): {name: float(value) for name, value in line.items()} for line in lines}


def xares_average(track: TrackName, figures: Mapping[str, float]) -> float:
    """Return half the sum of the means over public and hidden tasks, as the board prints it.

    Of a baseline, which has no hidden ones, the mean.
    """
    tasks = [value for name, value in figures.items() if name not in _MEANS]
    public, hidden = tasks[: _PUBLIC[track]], tasks[_PUBLIC[track] :]
    if not hidden:
        return fmean(public)
    return (fmean(public) + (figures[HIDDEN] if HIDDEN in figures else fmean(hidden))) / 2


def _model(line: Mapping[str, str]) -> PublishedModel:
    figures = {name: float(value) for name, value in line.items() if name not in ("team", "average")}
    return PublishedModel(line["team"], figures, float(line["average"]))
