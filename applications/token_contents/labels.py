"""Labels of a codec's frames: phones from an alignment, whole tones of pitch, and what the whole clip has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NONE = ""
"""Label of a frame that takes no part: silence, unvoiced, beyond the sound."""
LOWEST_HZ, STEPS_AN_OCTAVE = 55.0, 6
"""Pitch is counted in whole tones from A1."""


class Segment(NamedTuple):
    """A stretch of a sound that has one phone."""

    phone: str
    start: float
    """Seconds."""
    end: float


def centres(frames: int, frame_rate: float) -> Floats:
    """Return the middle of each frame in seconds."""
    return (np.arange(frames, dtype=np.float64) + 0.5) / np.float64(frame_rate)


def of_segments(segments: Iterable[Segment], frames: int, frame_rate: float) -> list[str]:
    """Return the phone at the middle of each frame, :data:`NONE` where there is none."""
    times = centres(frames, frame_rate)
    found = [NONE] * frames
    for of in segments:
        for at in np.flatnonzero((times >= of.start) & (times < of.end)):
            found[int(at)] = of.phone
    return found


def of_pitch(hertz: Floats, hop: float, frames: int, frame_rate: float) -> list[str]:
    """Return the whole tone at the middle of each frame of a pitch track, 0 Hz being unvoiced, ``hop`` s apart."""
    places = np.minimum(np.rint(centres(frames, frame_rate) / hop).astype(np.int64), hertz.size - 1)
    near = hertz[places] if hertz.size else np.zeros(frames)
    tones = np.floor(STEPS_AN_OCTAVE * np.log2(np.maximum(near, LOWEST_HZ) / LOWEST_HZ) + 0.5).astype(int)
    return [str(tone) if pitch > 0 else NONE for tone, pitch in zip(tones, near, strict=True)]


def words_of(text: str) -> list[str]:
    """Return the words of a transcript as CMUdict spells them; digits stay, and are in no dictionary."""
    found = (word.strip("'") for word in re.findall(r"[a-z0-9']+", re.sub("[‘’]", "'", text.lower())))
    return [word for word in found if word]
