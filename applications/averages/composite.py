"""A figure over several single figures, as data: which ones, what is made of them, which models may have answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codec_superb.applications.metric_functions import Floats
from codec_superb.applications.probe import ProbeMetric

Place = tuple[str, str]
"""Dataset and key of a single figure."""
Values = Mapping[Place, Floats]
"""Of one or several draws of both sides, all of one shape."""


@dataclass(frozen=True, slots=True)
class Composite:
    """One row of the table of composites."""

    figure: ProbeMetric
    """Its ``target`` is a ``module:function`` that takes :data:`Values` of all parts and returns their shape."""
    probe: str
    """What stands for a probe in its results."""
    parts: tuple[Place, ...]
    """What it is made of, all of it needed. A dataset of '' is any: then the figure is one of each dataset."""
    models: str = ""
    """``module:function`` from the model's name by (dataset, probe) to a sentence for each model that is not the
    protocol's; '' where all parts need one and the same model, whichever that is."""

    def instances(self, datasets: Iterable[str]) -> list[tuple[str, tuple[Place, ...]]]:
        """Return its own dataset ('' for one over several) and its parts, for each time that it may be computed."""
        if any(name for name, _ in self.parts):
            return [("", self.parts)]
        return [(name, tuple((name, key) for _, key in self.parts)) for name in sorted(datasets)]


def mean(values: Values) -> Floats:
    """Return the unweighted mean of all parts, of their shape; NaN where one of them is."""
    return np.asarray(np.mean(np.stack(list(values.values())), axis=0))


def means_over(figures: Sequence[ProbeMetric], probe: str, datasets: Sequence[str]) -> list[Composite]:
    """Return, for each figure, its unweighted mean over ``datasets`` (locales); none for fewer than two of these."""
    if len(datasets) < 2:  # noqa: PLR2004 -- a mean of one is that one
        return []
    return [_mean_over(figure, probe, datasets) for figure in figures]


def _mean_over(figure: ProbeMetric, probe: str, datasets: Sequence[str]) -> Composite:
    stem, percent = figure.key.removesuffix("_pct"), "_pct" if figure.key.endswith("_pct") else ""
    row = ProbeMetric(
        f"{stem}_mean{percent}",
        f"{figure.label}, mean of {len(datasets)} locales",
        figure.unit,
        figure.higher_is_better,
        figure.minimum,
        figure.maximum,
        figure.decimals,
        f"Unweighted mean over {len(datasets)} locales, given where one model was asked on all. {figure.definition}",
        f"{mean.__module__}:{mean.__name__}",
    )
    return Composite(row, probe, tuple((name, figure.key) for name in datasets))
