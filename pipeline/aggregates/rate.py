"""The rates of a figure of an application: those of the clips alone that its probes listen to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Protocol

from codec_superb.applications.table import PROBES
from codec_superb.metrics.table import CATEGORIES, Category


class Rated(Protocol):
    """The clips of one category of a dataset."""

    @property
    def ok(self) -> int:
        """Clips that were coded."""

    @property
    def seconds(self) -> float:
        """Their length."""

    @property
    def kbps(self) -> float | None:
        """All their bits over all their seconds; None where it is not known."""

    @property
    def tokens_per_second(self) -> float | None:
        """None for a codec without tokens."""


def measured_rates(
    parts: Mapping[tuple[Category, str], Rated], asked: Iterable[tuple[str, str]]
) -> tuple[float, float | None]:
    """Return kbps, NaN if not known, and tokens per second, None without, over all seconds of what was ``asked``.

    ``parts`` are by category and dataset; ``asked`` are datasets ('' for all) with the probe that listened to each. A
    probe that the table does not have stands for a figure over several: it looks at every category.
    """
    wanted = {(category, name) for name, probe in asked for category in _heard_by(probe)}
    found = [part for (category, name), part in parts.items() if name and wanted & {(category, name), (category, "")}]
    seconds = math.fsum(part.seconds for part in found)
    if not seconds:
        return math.nan, None
    bits, tokens = (
        [(getattr(part, of), part.seconds) for part in found if part.ok] for of in ("kbps", "tokens_per_second")
    )
    kbps, told = _over(bits, seconds), _over(tokens, seconds)
    return math.nan if kbps is None else kbps, told


def _heard_by(probe: str) -> tuple[Category, ...]:
    return tuple(PROBES[probe].categories if probe in PROBES else CATEGORIES)


def _over(rates: list[tuple[float | None, float]], seconds: float) -> float | None:
    """Return the rate over all seconds; None where one of them is not known."""
    known = [rate * length for rate, length in rates if rate is not None]
    return math.fsum(known) / seconds if len(known) == len(rates) else None
