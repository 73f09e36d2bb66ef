"""Clips of a dataset as applications see them: labels, and mono samples at a model's rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import Item, Samples
from codec_superb.base_codec import fitting
from codec_superb.data_manifests.clip import Clip


def item_of(clip: Clip) -> Item:
    """Return id, category and labels of a clip as an application's input."""
    labels = clip.labels
    return Item(
        clip.id, clip.category, labels.text, labels.language, labels.speaker, labels.emotion, labels.events,
        labels.extra, labels.question, labels.choices, labels.answers, clip.cluster,
    )  # fmt: skip


def reference_at(clip: Clip, rate: int) -> Samples:
    """Return the reference of a clip as the input of a backend: mono ``(samples,)`` at ``rate`` Hz."""
    return reference_of(*clip.load(), rate)


def reference_of(audio: NDArray[np.float32], own: int, rate: int) -> Samples:
    """Return sound ``(channels, samples)`` at ``own`` Hz as the input of a backend: mono ``(samples,)`` at ``rate``."""
    return at_rate(fitting.to_mono(audio)[0], own, rate)


def at_rate(samples: Samples, own: int, rate: int) -> Samples:
    """Resample mono ``(samples,)`` from ``own`` to ``rate`` Hz with soxr VHQ."""
    length = fitting.resampled_length(samples.size, own, rate)
    resampled: Samples = fitting.resample(samples[None, :], own, rate, length)[0]
    return resampled
