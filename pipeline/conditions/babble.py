"""Babble: the sum of other voices of the same dataset, chosen by the ids of its clips alone."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, cast

import numpy as np

from codec_superb.base_codec import fitting
from codec_superb.data_manifests import Clip, Dataset
from codec_superb.metrics.noise.mixing import Inapplicable, power
from codec_superb.metrics.noise.random_numbers import Floats, stream, uniform

VOICES = 8
FEWEST = 4
"""Fewer voices are no babble but speakers that can be followed."""
POOL = 48
"""Clips among which voices are drawn: a dataset of any size is searched once, not once a clip."""


@lru_cache(maxsize=4)
def pool(dataset: Any) -> tuple[str, ...]:
    """Return the clips of speech with the smallest SHA-256 of their ids, at most :data:`POOL`, in that order."""
    speech = (clip for clip in dataset.clip_ids() if dataset.clip(clip).category == "speech")
    return tuple(heapq.nsmallest(POOL, speech, key=lambda clip: hashlib.sha256(clip.encode()).digest()))


def voices(dataset: Dataset, clip: Clip) -> list[str]:
    """Return the ids of the voices of a clip's babble, at most :data:`VOICES`, none of the clip's own cluster.

    Raises Inapplicable for a dataset with fewer than :data:`FEWEST`.
    """
    others = [its for its in pool(_key(dataset)) if its != clip.id and not _same(dataset.clip(its), clip)]
    if len(others) < FEWEST:
        raise Inapplicable(
            f"expected at least {FEWEST} clips of speech by other speakers in {clip.dataset} to make babble of, got "
            f"{len(others)}; use noise:white"
        )
    order = np.argsort(uniform(stream("noise:babble", clip.id), len(others)), kind="stable")
    return [others[index] for index in order[:VOICES]]


def babble(dataset: Dataset, clip: Clip, samples: int, rate: int) -> Floats:
    """Return the babble of a clip, ``(samples,)`` at ``rate`` Hz: voices of one power, each from a place of its own.

    Raises Inapplicable, and what reading a clip raises.
    """
    names = voices(dataset, clip)
    starts = uniform(stream("noise:babble:places", clip.id), len(names))
    total = np.zeros(samples)
    for name, start in zip(names, starts, strict=True):
        voice = _voice(_key(dataset), name, rate)
        try:
            level = np.sqrt(power(voice))
        except Inapplicable:  # a recording of nothing adds nothing
            continue
        total += np.resize(np.roll(voice, -int(start * voice.size)), samples) / level
    return total


def _key(dataset: Dataset) -> Hashable:
    """Return the dataset as the key of a cache: an open one is its own."""
    return cast("Hashable", dataset)


def _same(one: Clip, other: Clip) -> bool:
    """Whether two clips are of one speaker; a clip without a cluster is on its own."""
    return bool(one.cluster) and one.cluster == other.cluster


@lru_cache(maxsize=64)
def _voice(dataset: Any, clip: str, rate: int) -> Floats:
    """Read a clip as mono at ``rate`` Hz."""
    audio, own = dataset.clip(clip).load()
    mono = fitting.to_mono(audio)
    resampled = fitting.resample(mono, own, rate, fitting.resampled_length(mono.shape[1], own, rate))
    voice: Floats = resampled[0].astype(np.float64)
    return voice
