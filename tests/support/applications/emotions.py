"""A small synthetic emotional set: pulses of tones whose pitch and tempo say which of four emotions is meant.

Nobody speaks in it. It shows that training and testing work, and says nothing about emotions.
"""

from __future__ import annotations

import numpy as np

from codec_superb.applications.interface import Item, Samples

RATE = 16_000
SHAPES = {"anger": (700.0, 7.0), "excitement": (1500.0, 5.0), "happiness": (1300.0, 5.0), "neutral": (350.0, 3.0),
    "sadness": (160.0, 1.5)}  # fmt: skip
"""Emotion to pitch in Hz and pulses per second."""


def synthetic_items(sessions: int = 5, takes: int = 2) -> list[Item]:
    """Return clips of every emotion from each session, two people in each, as IEMOCAP's indexer labels them."""
    return [
        Item(
            f"Session{session}/{emotion}_{take}", "speech", speaker=f"Ses0{session}{'FM'[take % 2]}", emotion=emotion,
            extra=(("act", "scripted"), ("session", f"Session{session}")),
        )
        for session in range(1, sessions + 1) for emotion in SHAPES for take in range(takes)
    ]  # fmt: skip


def synthetic_sound(clip: str, noise: float = 0.02) -> Samples:
    """Return the clip of this id, 0.6 s: each session a little higher than the one before, each take its own noise."""
    session, name = clip.removeprefix("Session").split("/")
    emotion, take = name.rsplit("_", 1)
    hertz, pulses = SHAPES[emotion]
    random = np.random.default_rng([int(session), int(take), sorted(SHAPES).index(emotion)])
    time = np.arange(round(0.6 * RATE)) / RATE
    pitch = hertz * (1 + 0.02 * int(session)) * (1 + 0.05 * random.standard_normal())
    envelope = 0.5 + 0.5 * np.sin(2 * np.pi * pulses * time)
    return (0.4 * envelope * np.sin(2 * np.pi * pitch * time) + noise * random.standard_normal(time.size)).astype(
        np.float32
    )
