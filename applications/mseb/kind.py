"""What the tasks of one kind have in common: the numbers kept of a clip, metrics, scorer, and who can answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from codec_superb.applications.probe import Field, ProbeMetric
from codec_superb.metrics.table import Category

Metrics = Callable[[str, str], tuple[ProbeMetric, ...]]
"""From key and label of a task to its metrics, whose keys are ``<key>_<suffix>``."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of task."""

    group: str
    """Super task that it belongs to."""
    scorer: str
    """``module:function``, see :class:`~codec_superb.applications.probe.Probe`."""
    takes: tuple[str, ...]
    """Roles of backends, one of which can answer."""
    shared: tuple[Field, ...]
    sided: tuple[Field, ...]
    metrics: Metrics
    primary: str
    """Suffix of the metric that stands for a task, and that is averaged over locales."""
    pairs: Literal["", "trials", "ranks", "detections", "frames"] = ""
    categories: tuple[Category, ...] = ("speech",)
    """Categories of the clips, unless a task says others."""
    limits: str = ""
    """Function of :mod:`codec_superb.applications.mseb.limits`; see :class:`~codec_superb.applications.probe.Probe`."""
    version: str = "1"
    """Version of the definition; a change of numbers changes it."""
    joint: bool = False
    """See :class:`~codec_superb.applications.probe.Probe`."""
    of_all: bool = False
    """The same."""
