"""Chat ``cascade``: a recogniser, then the option that the transcript names or whose meaning is closest to it.

The baseline that runs offline: it reads no question and can only choose. Recogniser: Whisper tiny.en (package file);
meaning: MiniLM sentence embeddings (package file).
"""

from __future__ import annotations

import hashlib
import re

import numpy as np

from codec_superb.applications.asr.faster_whisper import FasterWhisper
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Model, Reply, Sound
from codec_superb.applications.text.minilm import MiniLm
from codec_superb.applications.understanding.chat import Chat

NAME = "cascade"


class Cascade(Chat):
    """Whisper tiny.en and MiniLM."""

    one_copy_per_worker = True

    def prepare(self) -> Model:
        """Find both models; errors are theirs."""
        self._models = (FasterWhisper("tiny.en", self.weights).prepare(), MiniLm("", self.weights).prepare())
        sha256 = hashlib.sha256(" ".join(model.sha256 for model in self._models).encode()).hexdigest()
        settings = {f"{model.name}_{name}": value for model in self._models for name, value in model.settings.items()}
        return Model(NAME, sha256, settings)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- its parts have models of their own
        """Load both."""
        self._ears, self._reader = FasterWhisper("tiny.en", self.weights), MiniLm("", self.weights)
        for part in (self._ears, self._reader):
            part.load(part.prepare(), device, threads)

    def reply(self, sound: Sound) -> Reply:
        """Answer with an option; with the transcript where the question is open."""
        (heard,) = self._ears.predict([sound])
        if isinstance(heard, Exception):
            raise PredictionFailed(str(heard)) from heard
        text = str(heard).strip()
        if not sound.options:
            return Reply(text)
        named = [option for option in sound.options if re.search(rf"\b{re.escape(option)}\b", text, re.IGNORECASE)]
        if named:
            return Reply(max(named, key=len), {"transcript": text})
        if not text:
            return Reply("", {"transcript": text})
        vectors = self._reader.embed([text, *sound.options], "sentence")
        return Reply(sound.options[int(np.argmax(vectors[1:] @ vectors[0]))], {"transcript": text})

    def close(self) -> None:
        """Release both."""
        for part in (self._ears, self._reader):
            part.close()
