"""Describes application metrics as quantities of charts and tables: those of probes, and those of papers alone.

Those of probes come from the table of probes, so that pages, charts, exports and the service agree. The tables here
have the program's own alone, whenever a plug-in's probe joins; a report finds that one by :func:`application_of`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from codec_superb.applications.probe import Probe, ProbeMetric
from codec_superb.applications.table import COMPOSITES, PROBE_METRICS, PROBES, probe_of_metric
from codec_superb.metrics.table import Category
from codec_superb.web.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Application:
    """One figure, with the probe that computes it."""

    figure: ProbeMetric
    probe: Probe | None
    """None for a figure over several probes, and for one that only published tables have."""
    quantity: Quantity


def from_probe_metric(figure: ProbeMetric) -> Quantity:
    """Make the quantity of a probe's figure."""
    return Quantity(figure.key, figure.label, figure.unit, figure.higher_is_better, figure.decimals)


def _published(key: str, label: str, unit: str, higher_is_better: bool, maximum: float, definition: str) -> ProbeMetric:
    """Describe a metric that only a published table has; no function here computes it."""
    return ProbeMetric(key, f"UltraEval: {label}", unit, higher_is_better, 0.0, maximum, 2, definition, "")


_PUBLISHED = (
    _published(
        "ultra_error_rate_pct", "word or character error rate", "%", False, inf,
        "Word error rate of English (Whisper-large-v3), character error rate of Chinese (Paraformer-zh).",
    ),
    _published(
        "ultra_sim_pct", "speaker similarity", "%", True, 100.0,
        "Cosine between the WavLM speaker embeddings of reference and resynthesis, times 100.",
    ),
    _published("ultra_utmos", "UTMOS", "", True, 5.0, "Predicted naturalness, 1 to 5; not for Chinese."),
    _published("ultra_dnsmos_p835", "DNSMOS P.835, overall", "", True, 5.0, "Predicted overall quality, 1 to 5."),
    _published("ultra_dnsmos_p808", "DNSMOS P.808", "", True, 5.0, "Predicted listening quality after P.808, 1 to 5."),
)  # fmt: skip

APPLICATION_METRICS: dict[str, Application] = {
    **{
        f.key: Application(f, probe, from_probe_metric(f))
        for probe in PROBES.values()
        if not probe.origin
        for f in probe.metrics
    },
    **{f.key: Application(f, None, from_probe_metric(f)) for f in (*COMPOSITES.values(), *_PUBLISHED)},
}
"""By key, in the order in which they are shown."""

PUBLISHED_ONLY = frozenset(figure.key for figure in _PUBLISHED)
"""Keys that no probe of this program computes."""

APPLICATIONS: dict[str, Quantity] = {key: application.quantity for key, application in APPLICATION_METRICS.items()}
"""Their quantities, likewise."""


def application_of(key: str) -> Application:
    """Return what a figure is, also one of a plug-in's probe that this process knows, whose label says *custom*.

    Raises UnknownApplication for any other.
    """
    if key in APPLICATION_METRICS:
        return APPLICATION_METRICS[key]
    probe = probe_of_metric(key)
    figure = PROBE_METRICS[key]
    return Application(figure, probe, replace(from_probe_metric(figure), label=f"{figure.label} (custom)"))


def belongs_to(key: str, category: Category) -> bool:
    """Whether a metric uses clips of ``category``; one over several probes belongs to every category."""
    probe = APPLICATION_METRICS[key].probe
    return probe is None or category in probe.categories
