"""A custom metric, one outside the benchmark's table, as a row of a page: shown, never ranked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CustomRow:
    """One custom metric on one dataset, in one category of it."""

    key: str
    version: str
    label: str
    unit: str
    higher_is_better: bool
    definition: str
    origin: str
    """Distribution with its version, or name of a file."""
    dataset: str
    category: str
    mean: float | None
    low: float | None
    """Ends of the 95 % interval of the mean; None for fewer than two clusters of clips."""
    high: float | None
    n: int
    """Clips with a value."""
    undefined: int
    failed: int
