"""Read speech with its words for tests of recognisers, and an item and a sound with fewer words."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence

import numpy as np
import soundfile
from numpy.typing import NDArray
from support.speech import SPEECH_RATE, recordings

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.asr.normalise import normalise
from codec_superb.applications.interface import Backend, Item, Prediction, Sound

LIBRIVOX = "librivox/sense_and_sensibility_01_austen_64kb-{}.wav"
WORDS = {
    "0870": "and mister john dashwood had then leisure to consider how much there might be prudently in his power to "
    "do for them",
    "0880": "he was not an ill disposed young man",
    "0890": "unless to be rather cold hearted and rather selfish is to be ill disposed",
    "0920": "had he married a more a amiable woman he might have been made still more respectable than he was",
    "0930": "he might even have been made amiable himself",
}
"""What is read in the five LibriVox recordings of the dataset `mini`, as its manifest has it."""


def item(clip: str = "a", text: str | None = None, language: str | None = "en") -> Item:
    """Return what a dataset says about a clip of speech."""
    return Item(clip, "speech", text, language)


@functools.cache
def librivox() -> tuple[Sound, ...]:
    """Return the five LibriVox recordings of `mini`: 25 s of one reader at 16 kHz, fetched like any package file."""
    content = recordings([LIBRIVOX.format(number) for number in WORDS])
    return tuple(
        Sound(item(number, text), read_wav(data)) for (number, text), data in zip(WORDS.items(), content, strict=True)
    )


def noise(seconds: float, seed: int, language: str | None = "en") -> Sound:
    """Return noise at 16 kHz that a dataset says is speech in some language."""
    samples = 0.1 * np.random.default_rng(seed).standard_normal(round(seconds * SPEECH_RATE))
    return Sound(item(f"noise{seed}", language=language), samples.astype(np.float32))


def read_wav(data: bytes) -> NDArray[np.float32]:
    """Return the samples of a recording at 16 kHz."""
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    assert rate == SPEECH_RATE
    return samples  # type: ignore[no-any-return]


def word_errors(sounds: Sequence[Sound], transcripts: Sequence[Prediction | Exception]) -> float:
    """Return the word error rate of transcripts in percent."""
    errors = words = 0
    for sound, transcript in zip(sounds, transcripts, strict=True):
        assert isinstance(transcript, str), transcript
        assert sound.item.text is not None
        label = normalise(sound.item.text, "en").units
        errors += count_edits(label, normalise(transcript, "en").units).errors
        words += len(label)
    return 100 * errors / words


def loaded(backend: Backend) -> Backend:
    """Prepare and load a backend, on one thread: several that wait for one another are slow on a busy machine."""
    backend.load(backend.prepare(), "cpu", 1)
    return backend
