"""The metric table: every metric's key, unit, direction, range, categories, version and paper, as data.

Imports neither scipy nor the metric packages, so that the service and the command line can read it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Category = Literal["speech", "audio", "music"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table."""

    key: str
    label: str
    unit: str
    """'' for a plain number."""
    higher_is_better: bool
    minimum: float
    maximum: float
    """Range of defined values, ``inf`` where unbounded; a value outside is a fault."""
    overall: tuple[Category, ...]
    """Categories in whose overall score the metric takes part; () for none."""
    default: bool
    """Computed when nobody chooses."""
    version: str
    """Version of the definition; a change of numbers changes it."""
    definition: str
    """One sentence for people."""
    paper: str
    target: str
    """``module:function`` taking ``(reference, resynthesis, rate) -> float``."""
    extra: str | None = None
    """Extra of this package that it needs."""


METRICS: dict[str, Metric] = {}  # the metric branch fills this
