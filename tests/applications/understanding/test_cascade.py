"""The chat that runs offline: what it hears of real animals with a tagger, and its names."""

from __future__ import annotations

import pytest
import soxr

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item, Reply, Sound
from codec_superb.applications.understanding.cascade import Cascade
from codec_superb.applications.understanding.registry import own_registry
from codec_superb.data_manifests.dataset import open_dataset
from codec_superb.data_manifests.preparation import prepare


@pytest.mark.sample(1, among="emotions to the end")
def test_the_tagger_hears_animals_above_chance() -> None:
    """Of the fifteen animals of mini at least five are named; guessing does that once in eighty times."""
    classes = own_registry().tasks["mini_animals"].classes
    chat = open_backend("cascade:yamnet")
    assert isinstance(chat, Cascade)
    chat.load(chat.prepare(), "cpu", 1)
    prepare("mini")
    dataset = open_dataset("mini")
    right = 0
    for clip in (dataset.clip(name) for name in dataset.clip_ids()):
        if clip.labels.events and clip.labels.events[0] in classes:
            audio, rate = clip.load()
            samples = soxr.resample(audio.mean(axis=0), rate, chat.rate)
            (answer,) = chat.predict([Sound(Item(clip.id, "audio"), samples, options=classes)])
            assert isinstance(answer, Reply)
            assert answer in classes
            right += answer == clip.labels.events[0]
    chat.close()
    assert right >= 5


def test_another_tagger_is_refused() -> None:
    """The message names what is there."""
    with pytest.raises(ApplicationError, match="expected no variant or yamnet, got perch"):
        open_backend("cascade:perch").prepare()
