"""Bitrate bands, and which codecs of a band cannot be told from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Band:
    """A range of measured bitrates in kbps; the lower end belongs to it."""

    key: str
    low: float
    high: float

    @property
    def label(self) -> str:
        """Name of the band for people."""
        if math.isinf(self.high):
            return f"{self.low:g} kbps and more"
        return f"below {self.high:g} kbps" if not self.low else f"{self.low:g} to {self.high:g} kbps"


_EDGES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, math.inf)
BANDS = tuple(
    Band(f"{low:g}-{high:g}" if math.isfinite(high) else f"{low:g}-", low, high) for low, high in pairwise(_EDGES)
)


def band_of(kbps: float) -> Band | None:
    """Return the band of a bitrate; None where it is not known."""
    return next((band for band in BANDS if band.low <= kbps < band.high), None)


def holm(values: Sequence[float], hypotheses: int) -> list[float]:
    """Adjust p-values for being some of ``hypotheses`` (Holm, Scandinavian Journal of Statistics 1979).

    Those that are not among ``values`` count as the largest, so that a part of them is never adjusted too little.
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    adjusted, least = [1.0] * len(values), 0.0
    for place, position in enumerate(order):
        # step down: a later hypothesis is never surer than an earlier one
        least = max(least, min(1.0, (hypotheses - place) * values[position]))
        adjusted[position] = least
    return adjusted
