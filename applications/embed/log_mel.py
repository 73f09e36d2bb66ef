"""Backends ``log-mel-frames`` and ``log-mel-vectors``: a log-mel spectrogram, which needs no model.

Powers of a Hann window of ``window_s`` seconds every ``hop_s``, in Slaney's mel bands up to 8 kHz, of which the natural
logarithm is taken. All sizes are in seconds: a window of 25 ms is 400 samples at 16 kHz, and its transform has 512.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from codec_superb.applications.aec.framing import bin_hertz, frame
from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.model_files import refuse_variant
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import slaney_filters

FLOOR = 1e-10
"""Least power of a band: -100 dB below a sine of full scale in one bin."""


class LogMelFrames(FrameBackend):
    """Frames ``(frames, bands)``; the end of a clip that fills no window is left out."""

    name: ClassVar[str] = "log-mel-frames"
    one_copy_per_worker: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Setting]] = {"window_s": 0.025, "hop_s": 0.01, "bands": 80}

    def prepare(self) -> Model:
        """Say what will run. Raises ApplicationError for sizes that are none."""
        refuse_variant(self.name, self.chosen)
        if not (self.samples_of("window_s") >= 1 and self.samples_of("hop_s") >= 1 and int(self.options["bands"]) >= 1):
            raise ApplicationError(f"{self.name}: expected a window, a hop and bands of at least 1, got {self.options}")
        settings: dict[str, Setting] = {"front_end": "16 kHz, Hann, power, Slaney's mel to 8000 Hz, ln", "floor": FLOOR}
        return Model(self.name, hashlib.sha256(b"log-mel 1").hexdigest(), settings | self.options)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- numpy knows neither
        """Compute the filters."""
        self._window, self._hop = self.samples_of("window_s"), self.samples_of("hop_s")
        self._transform = 1 << (self._window - 1).bit_length()  # the next power of two
        bins = bin_hertz(self._transform, self.rate)
        self._filters = slaney_filters(int(self.options["bands"]), 0.0, self.rate / 2, bins).T

    def frames(self, samples: Samples) -> Frames:
        """Return the logarithms of the bands' powers."""
        spectra = np.fft.rfft(frame(samples, self._window, self._hop) * hann(self._window), self._transform)
        return np.log(np.maximum(np.square(np.abs(spectra)) @ self._filters, FLOOR)).astype(np.float32)


class LogMelVectors(LogMelFrames):
    """One vector ``(bands,)`` a clip: its frames, averaged unless the option ``pooling`` says otherwise."""

    name: ClassVar[str] = "log-mel-vectors"
    defaults: ClassVar[Mapping[str, Setting]] = {"pooling": "mean", **LogMelFrames.defaults}
