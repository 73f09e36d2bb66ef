"""What tests of sound events share: sounds with their rate, wrapped as a backend is given them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codec_superb.applications.interface import Item, Prediction, Samples, Sound


def sound(samples: Samples, clip: str = "clip", events: tuple[str, ...] = ()) -> Sound:
    """Wrap samples."""
    return Sound(Item(clip, "audio", events=events), samples.astype(np.float32))


def noise(seconds: float, rate: int = 16_000, seed: int = 0) -> Samples:
    """Return white noise of a tenth of full scale."""
    random = np.random.default_rng(seed)
    return (0.1 * random.standard_normal(round(seconds * rate))).astype(np.float32)


def tone(hertz: float, seconds: float, rate: int = 16_000) -> Samples:
    """Return a sine of half of full scale."""
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def scores(answers: Sequence[Prediction | Exception]) -> np.ndarray:
    """Stack answers that must all be class scores."""
    table = []
    for answer in answers:
        assert isinstance(answer, np.ndarray), answer
        assert answer.dtype == np.float32
        table.append(answer)
    return np.stack(table)
