"""Score one clip in all requested runs inside a worker: the reference is read and analysed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests import Clip
from codec_superb.data_manifests.errors import StoreError
from codec_superb.metrics.errors import MissingPackage, UnusableBackend
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.metrics.signals import Signal
from codec_superb.metrics.table import Backends, Metric, backends_of
from codec_superb.pipeline.conditions.apply import heard
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, dataset_of, load_mono, reason_of
from codec_superb.pipeline.tables.rows import MetricValue


class Resynthesis(NamedTuple):
    """One run's resynthesis of the clip, and the metrics to compute on it."""

    run: int
    """Index of the run in the parent's list."""
    path: str
    sha256: str
    metrics: tuple[Metric, ...]
    """Rows and not keys: a worker need not know where plug-ins were found."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the metrics."""
        return tuple(row.key for row in self.metrics)


class ScoreTask(NamedTuple):
    """The task of a worker: names and paths, from which it opens everything itself."""

    dataset: DatasetSpec
    clip: str
    items: tuple[Resynthesis, ...]
    backends: Backends = ()
    reference: Condition | None = None
    """The condition of the sound that is compared with; None for the clean original."""


class ScoredRun(NamedTuple):
    """The metric values of one run on the clip."""

    run: int
    values: dict[str, MetricValue]


def without_first(task: ScoreTask, count: int) -> ScoreTask | None:
    """Return the task without its first ``count + 1`` items: the finished ones, and the one that killed the worker."""
    rest = task.items[count + 1 :]
    return task._replace(items=rest) if rest else None


def score_clip(task: ScoreTask) -> Iterator[ScoredRun]:
    """Yield the values of each item, in order; errors become failed metrics with their reason."""
    dataset = dataset_of(task.dataset)
    clip: Clip | None = None
    try:
        clip = dataset.clip(task.clip)
        # once for all codecs of this clip: spectra, resampled forms and pitch stay with it
        sound, rate = load_mono(clip)
        reference = prepare(heard(task.reference, dataset, clip, sound, rate).samples, rate)
    except StoreError:
        raise  # the same for every clip
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
    except (MissingPackage, UnusableBackend):
        raise  # the same for every clip
    except Exception as error:  # noqa: BLE001 - one pair that cannot be compared costs its own metrics only
        return all_failed(item.keys, f"{type(error).__name__}: {reason_of(error)}")


def compare(
    reference: Signal, resynthesis: NDArray[np.float32], rate: int, metrics: Sequence[Metric], backends: Backends = ()
) -> dict[str, MetricValue]:
    """Score mono ``resynthesis`` ``(samples,)`` at ``rate`` Hz, which must be those of the reference.

    Raises RunFolderError where rate or length differ; nothing is resampled, cut or shifted. Raises UnusableBackend
    where an implementation that worked when it was tried does not work in this process.
    """
    if rate != reference.rate:
        raise RunFolderError(f"expected a resynthesis at {reference.rate} Hz, got {rate} Hz")
    # never cut or padded here: a shift of one sample costs SI-SDR some 10 dB unseen
    if resynthesis.size != reference.samples.size:
        raise RunFolderError(f"expected a resynthesis of {reference.samples.size} samples, got {resynthesis.size}")
    values = score_pair(reference, resynthesis, rate, metrics, backends=backends)
    for key, backend in backends_of(values, backends).items():
        if values[key].backend != backend:
            raise UnusableBackend(
                f"{key}: expected the implementation {backend!r}, which worked when scoring began, to work in every "
                f"worker process; one had to use {values[key].backend!r}: choose it for all with --{key}-backend"
            )
    return {
        key: MetricValue(status=v.status, value=v.value, reason=reason_of(ValueError(v.reason)) if v.reason else "")
        for key, v in values.items()
    }


def all_failed(keys: Sequence[str], reason: str) -> dict[str, MetricValue]:
    """Return a failed value for each key."""
    return {key: MetricValue(status="failed", reason=reason) for key in keys}
