"""The page ``/metrics``: every metric and every figure of an application as its own table defines it, and the score."""

from __future__ import annotations

from codec_superb.applications.table import PROBES
from codec_superb.applications.understanding.kinds import KINDS
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
        applications=[
            (key, each, number_range(each.figure))
            for key, each in APPLICATION_METRICS.items()
            if each.probe is None or each.probe.definition is None
        ],
        tasks=[probe for probe in PROBES.values() if probe.definition is not None and not probe.origin],
        task_figures=_task_figures(),
        published_only=PUBLISHED_ONLY,
        labels=LABELS,
    )


def _task_figures() -> list[tuple[str, str]]:
    """Return what each figure of tasks says and is, once for all tasks that have it."""
    return list(dict.fromkeys((row.words, row.definition) for kind in KINDS.values() for row in kind.rows))


def _parts(category: Category) -> list[str]:
    return [metric.label for metric in METRICS.values() if category in metric.overall]
