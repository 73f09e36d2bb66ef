"""Clip rows of several codecs on the same clips, as arrays: what paired comparisons and draws rest on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.noise.random_numbers import SEED, random_stream
from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.table import CATEGORIES, Category, overall_metrics
from codec_superb.pipeline.statistics.bootstrap import drawn_counts, widening
from codec_superb.pipeline.statistics.jackknife import Floats, Numbers, numbered
from codec_superb.server.database.models import ClipBlock
from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.server.storage.clip_blocks import Columns, block_columns

_KEYS = tuple(sorted({key for category in CATEGORIES for key in overall_metrics(category)}))


@dataclass(frozen=True, slots=True)
class ClipValues:
    """Metrics of the overall score of one submission on the clips of one category of one dataset."""

    pool: bytes
    """Hash of the clips' ids: only the same clips are compared."""
    clusters: Numbers
    """Number of each clip's cluster, from 0."""
    values: Floats
    """Shape ``(clips, metrics)``, in the order of ``overall_metrics``; NaN where a clip has no value."""

    def scores(self, category: Category) -> Floats:
        """Overall score of each clip by itself, shape ``(clips,)``; NaN where a metric has no value."""
        keys = overall_metrics(category)
        return np.asarray(dataset_score({key: self.values[:, n] for n, key in enumerate(keys)}, category))


def clip_values(
    session: Session, submission: str, datasets: Sequence[str], category: Category, kept: SingleFlightCache
) -> Mapping[str, ClipValues]:
    """Read the clips of a submission, by dataset; one without stored rows is absent."""
    missing = [name for name in datasets if (submission, name, category) not in kept]
    blocks: dict[str, bytes] = {}
    if missing:
        columns = ClipBlock.dataset, ClipBlock.data
        wanted = ClipBlock.submission_id == submission, ClipBlock.dataset.in_(missing)
        blocks = {row.dataset: row.data for row in session.execute(select(*columns).where(*wanted))}
    found = {
        name: kept.get((submission, name, category), partial(_read, blocks.get(name), category)) for name in datasets
    }
    return {name: values for name, values in found.items() if values is not None}


def _read(data: bytes | None, category: Category) -> ClipValues | None:
    if data is None:
        return None
    block = block_columns(data, _KEYS)
    mine = [place for place, of in enumerate(block.categories) if of == category]
    keys = overall_metrics(category)
    if not mine or not set(keys) <= block.values.keys():
        return None
    clips = [block.clips[place] for place in mine]
    return ClipValues(
        hashlib.sha256("\0".join(clips).encode()).digest(),
        numbered(_cluster_names(block, mine)),
        np.stack([block.values[key][mine] for key in keys], axis=1),
    )


def _cluster_names(block: Columns, mine: Sequence[int]) -> list[str]:
    """Name the cluster of each clip: the clip itself where none is known; ids of clusters are hexadecimal."""
    return [block.clusters[place] or f"/{block.clips[place]}" for place in mine]


def same_clips(found: Sequence[ClipValues | None]) -> tuple[list[int], Numbers]:
    """Choose those on the clips that most have, by position, and the clusters of these clips.

    Of results that know clusters and older ones that do not, the clusters count.
    """
    pools = [one.pool for one in found if one is not None]
    if not pools:
        return [], np.zeros(0, np.int64)
    # a tie between pools is broken by the hash, so that every process chooses the same
    usual = max(set(pools), key=lambda pool: (pools.count(pool), pool))
    chosen = [place for place, one in enumerate(found) if one is not None and one.pool == usual]
    clusters = [one.clusters for one in found if one is not None and one.pool == usual]
    return chosen, min(clusters, key=lambda numbers: int(numbers.max(initial=0)))


def score_draws(found: Sequence[ClipValues], clusters: Numbers, dataset: str, category: Category, draws: int) -> Floats:
    """Dataset scores of codecs over resampled clusters of the same clips, shape ``(draws, codecs)``.

    The same clusters are drawn for all, so that what one clip does to several codecs at once cancels. Draws are spread
    as :func:`~codec_superb.pipeline.statistics.bootstrap.widening` says. With one cluster nothing can be drawn: NaN.
    """
    values = np.stack([one.values for one in found], axis=1)
    clips, codecs, metrics = values.shape
    flat = values.reshape(clips, codecs * metrics)
    defined = np.isfinite(flat)
    table = np.hstack([np.where(defined, flat, 0.0), defined.astype(np.float64)])
    units = int(clusters.max(initial=-1)) + 1
    if units < 2:  # noqa: PLR2004 -- one cluster is no sample
        return np.full((draws, codecs), np.nan)
    sums = np.zeros((units, table.shape[1]))
    np.add.at(sums, clusters, table)
    counts = np.vstack(list(drawn_counts(units, draws, random_stream(SEED, "ranking", dataset, category))))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.vstack([np.ones(units), counts]) @ sums
        means = (means[:, : flat.shape[1]] / means[:, flat.shape[1] :]).reshape(draws + 1, codecs, metrics)
    keys = overall_metrics(category)
    scores = np.asarray(dataset_score({key: means[..., n] for n, key in enumerate(keys)}, category))
    return np.asarray(scores[0] + widening(units) * (scores[1:] - scores[0]))
