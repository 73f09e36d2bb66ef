"""The bitrate of an application metric: that of the clips of its probe's categories alone."""

from __future__ import annotations

import math

from codec_superb.applications.table import PROBES
from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.aggregates.metrics import Aggregates


def measured_kbps(aggregates: Aggregates, probe: str, dataset: str) -> float:
    """Return all bits over all seconds of the probe's categories on ``dataset`` ('' for all); NaN if not known.

    A ``probe`` that the table does not have stands for a figure over several: it looks at every category.
    """
    categories = PROBES[probe].categories if probe in PROBES else CATEGORIES
    parts = [
        part for part in aggregates.datasets if part.category in categories and (part.dataset == dataset or not dataset)
    ]
    seconds = math.fsum(part.seconds for part in parts)
    if not seconds or any(part.kbps is None and part.ok for part in parts):
        return math.nan
    return sum(part.bits for part in parts) / seconds / 1000
