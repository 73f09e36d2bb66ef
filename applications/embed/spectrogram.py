"""Backends ``spectrogram-frames`` and ``spectrogram-vectors``: a power spectrogram, which needs no model.

Squared magnitudes of samples in [-1, 1] under a Hann window, without a factor: frames of 64 ms every 20 ms are the
1,024 and 320 samples of MSEB's reconstruction task at 16 kHz. Its own rate and window are not stated; its figures have
the order of magnitude that these give. A distance of such frames grows with the fourth power of the gain, and says
little about hearing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from codec_superb.applications.aec.framing import frame
from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.model_files import refuse_variant
from codec_superb.metrics.hann import hann


class SpectrogramFrames(FrameBackend):
    """Frames ``(frames, bins)``, half of the window's samples and one: one bin every 15.6 Hz by default."""

    name: ClassVar[str] = "spectrogram-frames"
    one_copy_per_worker: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Setting]] = {"window_s": 0.064, "hop_s": 0.02}

    def prepare(self) -> Model:
        """Say what will run. Raises ApplicationError for sizes that are none."""
        refuse_variant(self.name, self.chosen)
        if min(self.samples_of("window_s"), self.samples_of("hop_s")) < 1:
            raise ApplicationError(f"{self.name}: expected a window and a hop of a sample at least, got {self.options}")
        settings: dict[str, Setting] = {"front_end": "16 kHz, Hann, power"}
        return Model(self.name, hashlib.sha256(b"power spectrogram 1").hexdigest(), settings | self.options)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Do nothing: there is no model."""

    def frames(self, samples: Samples) -> Frames:
        """Return the squared magnitudes, float32."""
        window = self.samples_of("window_s")
        spectra = np.fft.rfft(frame(samples, window, self.samples_of("hop_s")) * hann(window))
        return np.asarray(np.square(np.abs(spectra)), np.float32)


class SpectrogramVectors(SpectrogramFrames):
    """One vector ``(bins,)`` a clip: its frames, averaged unless the option ``pooling`` says otherwise."""

    name: ClassVar[str] = "spectrogram-vectors"
    defaults: ClassVar[Mapping[str, Setting]] = {"pooling": "mean", **SpectrogramFrames.defaults}
