"""Backend ``faster-whisper-frames``: the encoder of Whisper on CTranslate2, 50 frames a second; runs without torch.

tiny.en comes from the package file of the recogniser. The encoder was trained on windows of 30 s. Windows of at most
8 s, each filled up with silence to whole 2 s, cost a tenth of the time for the short clips of probes, and give other
numbers: both lengths are part of the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import ClassVar

import numpy as np

from codec_superb.applications.asr.faster_whisper import EMBEDDED, FasterWhisper
from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Model, Samples, Setting

NAME = "faster-whisper-frames"
_HOP = 320
"""Samples of a frame: spectra every 160, of which a convolution takes every second."""
_LONGEST_S = 30.0


class WhisperFrames(FrameBackend):
    """Frames ``(frames, dimensions)``, 384 numbers with tiny.en: ``faster-whisper-frames:tiny.en,window_s=8``."""

    one_copy_per_worker = True
    defaults: ClassVar[Mapping[str, Setting]] = {"window_s": 8.0, "fill_s": 2.0}

    def prepare(self) -> Model:
        """Find the checkpoint as the recogniser does. Raises ApplicationError for a window that does not fit."""
        for option, most in (("window_s", _LONGEST_S), ("fill_s", float(self.options["window_s"]))):
            size = self.samples_of(option)
            if not _HOP <= size <= most * self.rate or size % _HOP:
                raise ApplicationError(
                    f"option {option}: expected whole frames of 0.02 s, {most:g} s at most, got {self.options[option]}"
                )
        found = self._recogniser().prepare()
        settings: dict[str, Setting] = {"hop_s": _HOP / self.rate, "precision": found.settings["precision"]}
        name = f"{NAME}:{found.name.partition(':')[2]}"
        return Model(name, found.sha256, {**settings, **self.options}, found.path, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the checkpoint."""
        self._whisper = self._recogniser()
        self._whisper.load(model, device, threads)

    def frames(self, samples: Samples) -> Frames:
        """Encode window by window; the silence that fills up the last one has no frames."""
        window = self.samples_of("window_s")
        return np.concatenate([self._window(samples[at : at + window]) for at in range(0, samples.size, window)])

    def close(self) -> None:
        """Unload the model."""
        self._whisper.close()

    def _recogniser(self) -> FasterWhisper:
        return FasterWhisper(self.chosen or EMBEDDED, self.weights)

    def _window(self, part: Samples) -> Frames:
        fill = self.samples_of("fill_s")
        padded = np.zeros(min(self.samples_of("window_s"), ceil(part.size / fill) * fill), np.float32)
        padded[: part.size] = part
        encoded = self._whisper.encode(padded)
        return encoded[: ceil(part.size / _HOP)]
