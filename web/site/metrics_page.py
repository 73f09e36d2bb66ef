"""The page ``/metrics``: every metric's definition from the metric table itself, the overall score, the statistics."""

from __future__ import annotations

from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.web.quantity import from_metric
from codec_superb.web.report.sections import definitions
from codec_superb.web.site.page import Chrome, render


def metrics_page(chrome: Chrome) -> str:
    """Render the page."""
    rows = definitions(list(METRICS.values()), {key: from_metric(metric) for key, metric in METRICS.items()})
    return render("metrics.html.j2", chrome, rows=rows, overall=[(each, _parts(each)) for each in CATEGORIES])


def _parts(category: Category) -> list[str]:
    return [metric.label for metric in METRICS.values() if category in metric.overall]
