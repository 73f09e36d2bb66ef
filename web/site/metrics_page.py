"""The page ``/metrics``: every metric and every figure of an application as its own table defines it, and the score."""

from __future__ import annotations

from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.web.applications import APPLICATION_METRICS, PUBLISHED_ONLY
from codec_superb.web.quantity import from_metric
from codec_superb.web.report.application_details import LABELS
from codec_superb.web.report.sections import definitions, number_range
from codec_superb.web.site.page import PageContext, render


def metrics_page(page_context: PageContext) -> str:
    """Render the page."""
    rows = definitions(list(METRICS.values()), {key: from_metric(metric) for key, metric in METRICS.items()})
    return render(
        "metrics.html.j2",
        page_context,
        rows=rows,
        overall=[(each, _parts(each)) for each in CATEGORIES],
        applications=[(key, each, number_range(each.figure)) for key, each in APPLICATION_METRICS.items()],
        published_only=PUBLISHED_ONLY,
        labels=LABELS,
    )


def _parts(category: Category) -> list[str]:
    return [metric.label for metric in METRICS.values() if category in metric.overall]
