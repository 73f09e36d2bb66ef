"""Names of emotions: labels of datasets, and the four classes of the paper's protocol."""

from __future__ import annotations

from collections.abc import Collection

IEMOCAP_CLASSES = ("anger", "happiness", "neutral", "sadness")
"""Classes of IEMOCAP in the usual protocol, as the datasets here call them: its excitement counts as happiness."""
SPELLINGS = {
    "angry": "anger",
    "disgusted": "disgust",
    "excited": "excitement",
    "fearful": "fear",
    "happy": "happiness",
    "sad": "sadness",
    "surprised": "surprise",
}
COUNTS_AS = {"excitement": "happiness"}
"""Emotion to the substitute where a model has no class for it."""


def class_of(emotion: str, classes: Collection[str]) -> str | None:
    """Return the class that a dataset's emotion belongs to, None where the classes have none for it."""
    if emotion in classes:
        return emotion
    name = emotion.strip().lower()
    name = SPELLINGS.get(name, name)
    if name not in classes:
        name = COUNTS_AS.get(name, name)
    return name if name in classes else None
