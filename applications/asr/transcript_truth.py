"""The oracle: the dataset's own transcript in place of what a recogniser hears, whatever became of the sound."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Backend, Model, Prediction, Sound
from codec_superb.applications.model_files import refuse_variant


class TranscriptTruth(Backend):
    """Answers with the label ``text``: what a chain behind a perfect recogniser reaches, a second ceiling."""

    one_copy_per_worker = True

    def prepare(self) -> Model:
        """Say what will run."""
        refuse_variant("transcript-truth", self.variant)
        return Model("transcript-truth", hashlib.sha256(b"transcript-truth 1").hexdigest())

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load nothing."""

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return the transcript of each clip."""
        return [_transcript(sound) for sound in batch]


def _transcript(sound: Sound) -> Prediction | Exception:
    text = sound.item.text
    return PredictionFailed(f"{sound.item.clip} has no transcript") if text is None else text
