"""Every metric of the table as a ``torchmetrics.Metric``, named by its key in capitals: ``PESQ``, ``STOI``, ``SI_SDR``.

from codec_superb.torchmetrics import PESQ

pesq = PESQ(sampling_rate=16000)
pesq.update(preds, target)
pesq.compute()

The numbers are those of :func:`codec_superb.score`, on the CPU and without a gradient. A class is made of a row of the
table when it is used first.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from codec_superb.api.arrays_scored import scored
from codec_superb.metrics.plugged import find_metric
from codec_superb.metrics.table import METRICS, Metric
from codec_superb.missing_package import not_installed

try:
    import torch
    import torchmetrics
except ImportError as error:
    raise ImportError(not_installed("codec_superb.torchmetrics", "torchmetrics", extra="torchmetrics")) from error


class PairMetric(torchmetrics.Metric):
    """The mean of a metric over pairs of resynthesis and reference.

    ``undefined`` and ``failed`` count the pairs on which it has no meaning and on which it crashed: neither is part of
    the mean. Sums and counts are added up over processes.
    """

    row: ClassVar[Metric]
    """Of the metric table."""
    is_differentiable = False
    full_state_update = False

    total: torch.Tensor
    scored: torch.Tensor
    """Pairs with a value."""
    undefined: torch.Tensor
    failed: torch.Tensor

    def __init__(self, sampling_rate: int = 16000, **options: Any) -> None:
        """Score sound of ``sampling_rate`` Hz; ``options`` are those of torchmetrics.Metric."""
        super().__init__(**options)
        self.sampling_rate = sampling_rate
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        for name in ("scored", "undefined", "failed"):
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Add pairs: ``(samples,)``, ``(batch, samples)`` or ``(batch, channels, samples)``, floating point in [-1, 1].

        ``preds`` are resyntheses, ``target`` references. Raises InvalidAudio for what is no pair, MissingPackage.
        """
        for found in scored(target, preds, self.sampling_rate, [self.row]).results:
            result = found[self.row.key]
            if result.value is not None:
                self.total += result.value
                self.scored += 1
            elif result.status == "undefined":
                self.undefined += 1
            else:
                self.failed += 1
                warnings.warn(f"{self.row.key} failed: {result.reason}", RuntimeWarning, stacklevel=2)

    def compute(self) -> torch.Tensor:
        """Return the mean over the pairs with a value, float64; NaN without any."""
        return self.total / self.scored


def __getattr__(name: str) -> type[PairMetric]:
    """Make the class of a metric. Raises AttributeError with the names that there are."""
    if name not in __dir__():
        raise AttributeError(f"codec_superb.torchmetrics has {', '.join(__dir__())}; got {name}")
    row = find_metric(name.lower())
    members = {
        "__doc__": f"{row.label}: {row.definition}",
        "__module__": __name__,  # where pickle looks for it
        "row": row,
        "higher_is_better": row.higher_is_better,
    }
    made = type(name, (PairMetric,), members)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    """List the metrics."""
    return [key.upper() for key in METRICS]
