"""Clip rows as arrays: grouped by dataset and category, clips sorted by id, one column per metric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.table import CATEGORIES, Category, overall_metrics
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.bootstrap import Floats, mean, random_stream, replicate_means
from codec_superb.pipeline.tables.rows import ClipRow


@dataclass(frozen=True, slots=True, order=True)
class ClipPool:
    """The clips of one category of one dataset, over which a dataset score is computed."""

    dataset: str
    category: Category


def group_rows(rows: Iterable[ClipRow]) -> dict[ClipPool, list[ClipRow]]:
    """Rows by group, groups and clips sorted. Raises PipelineError when a clip occurs twice in a dataset."""
    groups: dict[ClipPool, list[ClipRow]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if (row.dataset, row.clip) in seen:
            raise PipelineError(f"clip {row.clip!r} of {row.dataset!r}: expected one row, got two; give each run once")
        seen.add((row.dataset, row.clip))
        groups[ClipPool(row.dataset, row.category)].append(row)
    order = sorted(groups, key=lambda group: (group.dataset, CATEGORIES.index(group.category)))
    return {group: sorted(groups[group], key=lambda row: row.clip) for group in order}


def values_of(rows: Sequence[ClipRow], keys: Sequence[str]) -> Floats:
    """Array of shape ``(rows, keys)``; NaN where a metric is undefined, failed or was not computed."""
    table = np.full((len(rows), len(keys)), np.nan)
    for position, row in enumerate(rows):
        for column, key in enumerate(keys):
            entry = row.metrics.get(key)
            if row.status == "ok" and entry is not None and entry.value is not None:
                table[position, column] = entry.value
    return table


@dataclass(frozen=True, slots=True)
class SharedClips:
    """Several codecs on their shared clips of one group, resampled together."""

    group: ClipPool
    keys: tuple[str, ...]
    clips: tuple[str, ...]
    values: Floats
    """Shape ``(clips, codecs, keys)``; NaN for all codecs where one of them has no value, so that each mean is over
    the same clips for every codec."""
    means: Floats
    """Shape ``(codecs, keys)``."""
    replicates: Floats
    """Shape ``(replicates, codecs, keys)``."""

    @property
    def n(self) -> tuple[int, ...]:
        """Clips with a value for every codec, by metric."""
        return tuple(int(count) for count in np.isfinite(self.values[:, 0, :]).sum(axis=0))

    def scores(self) -> tuple[Floats, Floats] | None:
        """Dataset scores, shapes ``(codecs,)`` and ``(replicates, codecs)``; None when a metric has no shared value."""
        needed = overall_metrics(self.group.category)
        if not set(needed) <= set(self.keys) or not np.isfinite(self._columns(self.means, needed)).all():
            return None
        return self._score(self.means, needed), self._score(self.replicates, needed)

    @property
    def score_n(self) -> int:
        """Smallest number of clips among the metrics of the overall score."""
        counts = dict(zip(self.keys, self.n, strict=True))
        return min((counts.get(key, 0) for key in overall_metrics(self.group.category)), default=0)

    def _columns(self, table: Floats, keys: Sequence[str]) -> Floats:
        return table[..., [self.keys.index(key) for key in keys]]

    def _score(self, table: Floats, keys: Sequence[str]) -> Floats:
        means = {key: self._columns(table, [key])[..., 0] for key in keys}
        return np.asarray(dataset_score(means, self.group.category))


def resample(
    group: ClipPool, codecs: Sequence[Mapping[str, ClipRow]], keys: Sequence[str], seed: int, replicates: int
) -> SharedClips:
    """Resample the clips that every one of ``codecs`` (clip id to row) has with status ok."""
    shared = set.intersection(*({clip for clip, row in rows.items() if row.status == "ok"} for rows in codecs))
    clips = tuple(sorted(shared))
    values = np.stack([values_of([rows[clip] for clip in clips], keys) for rows in codecs], axis=1)
    # a metric counts on the clips on which every codec has it: otherwise the hard ones are missing on one side only
    values[np.broadcast_to(np.isnan(values).any(axis=1, keepdims=True), values.shape)] = np.nan
    flat = values.reshape(len(clips), len(codecs) * len(keys))
    means = np.array([mean(flat[:, column]) for column in range(flat.shape[1])]).reshape(values.shape[1:])
    draws = replicate_means(flat, replicates, random_stream(seed, group.dataset, group.category))
    return SharedClips(group, tuple(keys), clips, values, means, draws.reshape(replicates, *values.shape[1:]))
