"""Select the clips of a run: those of ``--limit``, spread over categories and dataset, or those that are named.

The order does not depend on the limit, so that a larger selection contains every smaller one and reuses its results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice, zip_longest

from codec_superb.data_manifests import CATEGORIES, Dataset
from codec_superb.data_manifests.dataset import categories
from codec_superb.pipeline.errors import PipelineError


def batched(clips: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield the clips, ``size`` at a time; a sequence that reads its clips reads each once."""
    left = iter(clips)
    while some := list(islice(left, size)):
        yield some


def select_clips(dataset: Dataset, limit: int | None, only: Collection[str] | None = None) -> Sequence[str]:
    """Return the sorted ids of the clips to run: all, or ``limit`` of them, taken from the categories in turn.

    Within a category clips are ordered by a hash of the id, so that not all come from the first speaker or folder.
    ``only`` names the clips instead. Raises PipelineError for clips that the dataset lacks, and for no clip.
    """
    ids = dataset.clip_ids()
    if only is not None:
        if others := sorted(set(only).difference(ids)):
            raise PipelineError(f"{dataset.name}: expected clips of the dataset, got {len(others)} others: {others[0]}")
        if not only:
            raise PipelineError(f"{dataset.name}: expected at least one clip, got none")
        return sorted(set(only))
    if limit is None or limit >= len(ids):
        return ids  # sorted, and of a list in a table read when they are asked for
    if limit < 1:
        raise PipelineError(f"expected a limit of at least 1 clip, got {limit}")
    groups: dict[str, list[str]] = {category: [] for category in CATEGORIES}
    for clip_id, category in zip(ids, categories(dataset, ids), strict=True):
        groups[category].append(clip_id)
    # category after category in turn: any limit has all of them
    turns = zip_longest(*(sorted(group, key=_spread) for group in groups.values()))
    order = [clip_id for clip_id in chain.from_iterable(turns) if clip_id is not None]
    return sorted(order[:limit])


def _spread(clip_id: str) -> bytes:
    """Return a sort key that is independent of the order of ids."""
    # by hash: a larger limit adds clips to those of a smaller one, and ids in order of speakers are mixed
    return hashlib.sha256(clip_id.encode()).digest()
