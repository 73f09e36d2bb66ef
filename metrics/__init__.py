"""Signal metrics: pure functions on arrays, the metric table, the overall score."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codec_superb.metrics.table import Metric


class _Callable(ModuleType):
    """``codec_superb.metrics()`` lists the metrics; importing this package makes it an attribute of that name."""

    def __call__(self) -> dict[str, Metric]:
        """Return the rows of the table, and those of installed plug-ins, by key."""
        from codec_superb.metrics.plugged import known_metrics

        return known_metrics()


sys.modules[__name__].__class__ = _Callable
