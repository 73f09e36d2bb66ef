"""Figures over several datasets or probes of one codec, from its single figures and those without each cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from codec_superb.applications.averages.composite import Composite, Place, Values
from codec_superb.applications.metric_functions import Floats
from codec_superb.applications.table import probe_of_metric
from codec_superb.pipeline.aggregates.estimate import ClusteredEstimate
from codec_superb.pipeline.statistics.jackknife import Jackknife
from codec_superb.plugins import load

Backends = Mapping[tuple[str, str], str]
"""By dataset and probe: the model that answered."""


def combined(
    row: Composite, parts: Sequence[Place], estimates: Mapping[Place, ClusteredEstimate], backends: Backends
) -> ClusteredEstimate | None:
    """Combine single figures, by dataset and figure in ``estimates``, on all clips and without each group of clusters.

    None where one of ``parts`` is missing or without a value, or was measured with a model that the row does not
    admit: only then is it comparable with others of its name.
    """
    own = {place: estimates[place] for place in parts if place in estimates}
    whole = len(own) == len(parts) and all(np.isfinite(part.found.point).all() for part in own.values())
    if not whole or not _admitted(row, {(name, probe_of_metric(key).key) for name, key in parts}, backends):
        return None
    function = _function(row.figure.target)
    points: dict[Place, Floats] = {place: part.found.point for place, part in own.items()}
    tables, shares = [], []
    for name in dict.fromkeys(name for name, _ in parts):
        mine = {place: part.found for place, part in own.items() if place[0] == name}
        groups = max(len(found.shares[0]) for found in mine.values())
        # figures of one dataset are without the same clusters, those of the others are whole
        values = {place: np.broadcast_to(point, (groups, 2)) for place, point in points.items()}
        # a figure that has no clip of the last groups is the same without them
        values |= {place: np.vstack([found.left_out[0], values[place]])[:groups] for place, found in mine.items()}
        tables.append(function(values))
        spread = [np.pad(found.shares[0], (0, groups - len(found.shares[0]))) for found in mine.values()]
        shares.append(np.mean(spread, axis=0))
    found = Jackknife(function(points), tuple(tables), tuple(shares))
    return ClusteredEstimate(found, min(part.n for part in own.values()))


def _admitted(row: Composite, models: set[tuple[str, str]], backends: Backends) -> bool:
    """Whether every part names its model, and these are those of the protocol, or one and the same."""
    if not models <= backends.keys():
        return False
    if not row.models:
        return len({backends[place] for place in models}) == 1
    deviations: Callable[[Backends], Sequence[str]] | None = load(row.models)
    return deviations is not None and not deviations(backends)


@cache
def _function(target: str) -> Callable[[Values], Floats]:
    function: Callable[[Values], Floats] = load(target)
    return function
