"""A figure over several single figures, as data: which ones, what is made of them, which models may have answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

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


def mean_of(name: str, label: str, like: ProbeMetric, probe: str, parts: Sequence[Place]) -> Composite:
    """Return the unweighted mean of ``parts``, figures like ``like``; its key ends in ``_mean_<name>``."""
    stem, percent = like.key.removesuffix("_pct"), "_pct" if like.key.endswith("_pct") else ""
    row = replace(
        like,
        key=f"{stem}_mean_{name}{percent}",
        label=label,
        definition=f"Unweighted mean, given where one model was asked for all. {like.definition}",
        target=f"{mean.__module__}:{mean.__name__}",
        field="",
        per="",
    )
    return Composite(row, probe, tuple(parts))
