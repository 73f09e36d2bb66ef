"""The Plotly figures of a codec's page as JSON, cached by submission where they depend on its clips alone."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy.orm import Session

from codec_superb.metrics.table import METRICS, Category
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.codecs import service
from codec_superb.server.codecs.band import axes
from codec_superb.server.codecs.codec_caches import codec_caches
from codec_superb.server.codecs.service import NewestResults
from codec_superb.server.errors import NotFound
from codec_superb.web.figures.cumulative import cumulative_chart, share_reaching
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.radar import radar_chart
from codec_superb.web.mseb.choose import spokes_of
from codec_superb.web.mseb.heat import Shown, heat_chart, heat_maps
from codec_superb.web.mseb.spokes import spokes_chart
from codec_superb.web.quantity import from_metric


def radar_figure(snapshot: Snapshot, found: NewestResults, category: Category) -> bytes:
    """Draw the codec against its bitrate band. Raises NotFound for a category without results."""
    own = service.category_of(found, category)
    near = service.band(snapshot, found, own)
    return _json(radar_chart(found.card.title, axes(own, near.members if near else ())))


def spokes_figure(found: NewestResults) -> bytes:
    """Draw the super tasks of MSEB. Raises NotFound for a codec without any."""
    spokes = spokes_of(service.applications_of(found))
    if not any(spoke.row for spoke in spokes):
        raise NotFound(f"{found.card.name} has no results of MSEB")
    return _json(spokes_chart(found.card.title, spokes))


def locales_figure(found: NewestResults, figure: str, model: str, shown: Shown) -> bytes:
    """Draw a figure by dataset and recording condition. Raises NotFound, naming those that there are."""
    heats = heat_maps([*service.applications_of(found), *service.slices_of(found)])
    for heat in heats:
        if heat.quantity.key == figure and model in {"", heat.model}:
            return _json(heat_chart(heat, shown))
    there = ", ".join(dict.fromkeys(heat.quantity.key for heat in heats))
    raise NotFound(f"{found.card.name} has no {figure!r} by locale or condition; there are {there or 'none'}")


def distribution_figure(
    state: Any, session: Session, found: NewestResults, category: Category, metric: str, dataset: str
) -> bytes:
    """Draw the spread of a metric over the clips of one dataset, or of each where ``dataset`` is ''.

    Raises NotFound, naming those that exist, for a category, a dataset or a metric without results.
    """
    datasets = service.category_of(found, category).summary.datasets
    if dataset and dataset not in datasets:
        raise NotFound(f"{found.card.name} has {category} results on {', '.join(datasets)}, not on {dataset!r}")
    if metric not in METRICS:
        raise NotFound(f"no metric {metric!r}; there are {', '.join(METRICS)}")
    key = (found.submission.id, category, metric, dataset)
    chosen = [dataset] if dataset else list(datasets)
    return codec_caches(state).distributions.get(key, lambda: _distribution(session, found, category, metric, chosen))


def _distribution(
    session: Session, found: NewestResults, category: Category, metric: str, datasets: list[str]
) -> bytes:
    row = METRICS[metric]
    curves = []
    for name in datasets:
        values = service.values_of(session, found, category, name).get(metric)
        if values is not None:
            curves.append(share_reaching(found.title(name), values.tolist(), higher_is_better=row.higher_is_better))
    return _json(cumulative_chart(curves, from_metric(row)))


def _json(figure: Figure) -> bytes:
    """Write a figure as strict JSON."""
    return json.dumps(figure, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
