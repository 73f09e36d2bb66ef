"""One clip of a dataset through all runs asked for, inside a worker: the reference is read and analysed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests import Clip
from codec_superb.metrics.errors import MissingPackage
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.metrics.signals import Signal
from codec_superb.metrics.table import Backends, Metric
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, dataset_of, load_mono, reason_of
from codec_superb.pipeline.tables.rows import MetricValue


class Resynthesis(NamedTuple):
    """One run's version of the clip, and what to compute on it."""

    run: int
    """Place of the run in the list that the parent holds."""
    path: str
    sha256: str
    metrics: tuple[Metric, ...]
    """Rows and not keys: a worker need not know where plug-ins were found."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the metrics."""
        return tuple(row.key for row in self.metrics)


class ScoreTask(NamedTuple):
    """What a worker is told: names, from which it opens everything itself."""

    dataset: DatasetSpec
    clip: str
    items: tuple[Resynthesis, ...]
    backends: Backends = ()


class ScoredRun(NamedTuple):
    """The outcome for one run: a value for each of its keys."""

    run: int
    values: dict[str, MetricValue]


def without_first(task: ScoreTask, count: int) -> ScoreTask | None:
    """Return the task without its first ``count + 1`` items: those answered, and the one that killed the worker."""
    rest = task.items[count + 1 :]
    return task._replace(items=rest) if rest else None


def score_clip(task: ScoreTask) -> Iterator[ScoredRun]:
    """Yield one outcome an item, in the order of the items; what goes wrong becomes failed metrics with the reason."""
    dataset = dataset_of(task.dataset)
    clip: Clip | None = None
    try:
        clip = dataset.clip(task.clip)
        reference = prepare(*load_mono(clip))
    except Exception as error:  # noqa: BLE001 - a reference that cannot be read costs its own clip only
        reason = f"the reference cannot be read: {type(error).__name__}: {reason_of(error, clip)}"
        for item in task.items:
            yield ScoredRun(item.run, all_failed(item.keys, reason))
        return
    for item in task.items:
        yield ScoredRun(item.run, _score(reference, item, task.backends))


def _score(reference: Signal, item: Resynthesis, backends: Backends) -> dict[str, MetricValue]:
    """Compare one resynthesis with the reference."""
    try:
        resynthesis, rate = read_audio(Path(item.path), item.sha256)
        return compare(reference, resynthesis, rate, item.metrics, backends)
    except MissingPackage:
        raise  # the same for every clip
    except Exception as error:  # noqa: BLE001 - one pair that cannot be compared costs its own metrics only
        return all_failed(item.keys, f"{type(error).__name__}: {reason_of(error)}")


def compare(
    reference: Signal, resynthesis: NDArray[np.float32], rate: int, metrics: Sequence[Metric], backends: Backends = ()
) -> dict[str, MetricValue]:
    """Score mono ``resynthesis`` ``(samples,)`` at ``rate`` Hz, which must be those of the reference.

    Raises RunFolderError where they are not: nothing is resampled, cut or shifted to make it fit.
    """
    if rate != reference.rate:
        raise RunFolderError(f"expected a resynthesis at {reference.rate} Hz, got {rate} Hz")
    if resynthesis.size != reference.samples.size:
        raise RunFolderError(f"expected a resynthesis of {reference.samples.size} samples, got {resynthesis.size}")
    values = score_pair(reference, resynthesis, rate, metrics, backends=backends)
    return {
        key: MetricValue(status=v.status, value=v.value, reason=reason_of(ValueError(v.reason)) if v.reason else "")
        for key, v in values.items()
    }


def all_failed(keys: Sequence[str], reason: str) -> dict[str, MetricValue]:
    """Return a failed value for each key."""
    return {key: MetricValue(status="failed", reason=reason) for key in keys}
