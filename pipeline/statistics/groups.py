"""Clip rows as arrays: grouped by dataset and category, clips sorted by id, one column per metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.noise.random_numbers import random_stream
from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.table import CATEGORIES, Category, overall_metrics
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.bootstrap import mean, replicate_means
from codec_superb.pipeline.statistics.clip_arrays import ClipArrays, arrays_of, cluster_numbers, repeated, shared
from codec_superb.pipeline.statistics.jackknife import Floats, Jackknife, means
from codec_superb.pipeline.tables.rows import ClipRow


@dataclass(frozen=True, slots=True, order=True)
class ClipPool:
    """The clips of one category of one dataset, over which a dataset score is computed."""

    dataset: str
    category: Category


def group_rows(rows: Iterable[ClipRow]) -> dict[ClipPool, ClipArrays]:
    """Rows by group, groups and clips sorted. Raises PipelineError when a clip occurs twice in a dataset."""
    groups = {
        ClipPool(dataset, cast("Category", category)): its for (dataset, category), its in arrays_of(rows).items()
    }
    order = sorted(groups, key=lambda group: (group.dataset, CATEGORIES.index(group.category)))
    for dataset in {group.dataset for group in order}:
        if (clip := repeated([groups[group] for group in order if group.dataset == dataset])) is not None:
            raise PipelineError(f"clip {clip!r} of {dataset!r}: expected one row, got two; give each run once")
    return {group: groups[group] for group in order}


@dataclass(frozen=True, slots=True)
class SharedClips:
    """Several codecs on their shared clips of one group."""

    group: ClipPool
    keys: tuple[str, ...]
    clips: int
    """How many."""
    values: Floats
    """Shape ``(clips, codecs, keys)``; NaN for all codecs where one of them has no value, so that each mean is over
    the same clips for every codec."""
    clusters: NDArray[np.int64]
    """Number of each clip's cluster, from 0."""
    means: Jackknife
    """Shape ``(codecs, keys)``."""

    @property
    def cluster_count(self) -> int:
        """How many clusters the clips are of."""
        return int(self.clusters.max(initial=-1)) + 1

    @property
    def n(self) -> tuple[int, ...]:
        """Clips with a value for every codec, by metric."""
        return tuple(int(count) for count in np.isfinite(self.values[:, 0, :]).sum(axis=0))

    def column(self, position: int) -> Jackknife:
        """Means of one metric, shape ``(codecs,)``, without each of the groups that have a value of it."""
        has = np.isfinite(self.values[:, 0, position])
        values = self.values[has, :, position]
        clusters = np.unique(self.clusters[has], return_inverse=True)[1].reshape(-1)
        return means(values, clusters, self.means.point[:, position])

    def scores(self) -> Jackknife | None:
        """Dataset scores, shape ``(codecs,)``; None when a metric has no shared value."""
        needed = overall_metrics(self.group.category)
        if not set(needed) <= set(self.keys) or not np.isfinite(self._columns(self.means.point, needed)).all():
            return None
        return self.means.map(self.score)

    def score(self, table: Floats) -> Floats:
        """Overall scores of means of shape ``(..., codecs, keys)``."""
        needed = overall_metrics(self.group.category)
        return np.asarray(
            dataset_score({key: self._columns(table, [key])[..., 0] for key in needed}, self.group.category)
        )

    def draw(self, seed: int, replicates: int) -> Floats:
        """Means of resampled clusters, shape ``(replicates, codecs, keys)``."""
        clips, *shape = self.values.shape
        flat = self.values.reshape(clips, math.prod(shape))
        stream = random_stream(seed, self.group.dataset, self.group.category)
        return replicate_means(flat, replicates, stream, self.clusters).reshape(replicates, *shape)

    def _columns(self, table: Floats, keys: Sequence[str]) -> Floats:
        return table[..., [self.keys.index(key) for key in keys]]


def share(group: ClipPool, codecs: Sequence[ClipArrays], keys: Sequence[str]) -> SharedClips:
    """Take the clips that every one of ``codecs`` has with status ok."""
    joint = shared(codecs)
    values = np.stack([codec.values(keys) for codec in joint], axis=1)
    # a metric counts on the clips on which every codec has it: otherwise the hard ones are missing on one side only
    values[np.broadcast_to(np.isnan(values).any(axis=1, keepdims=True), values.shape)] = np.nan
    flat = values.reshape(len(values), len(codecs) * len(keys))
    centre = np.array([mean(flat[:, column]) for column in range(flat.shape[1])])
    clusters = cluster_numbers(joint)
    whole = means(flat, clusters, centre).map(lambda table: table.reshape(*table.shape[:-1], *values.shape[1:]))
    return SharedClips(group, tuple(keys), len(values), values, clusters, whole)


def cluster_names(rows: Iterable[Sequence[ClipRow]]) -> list[str]:
    """Name the cluster of each clip, of which there is a row a codec: the clip itself where no row has one."""
    # a result of an earlier version has none; ids of clusters are hexadecimal, so that no clip is called the same
    return [max(row.cluster for row in entries) or f"/{entries[0].clip}" for entries in rows]
