"""Backends ``yamnet-frames`` and ``yamnet-vectors``: the layer of YAMNet that its classifier judges by.

1024 numbers a patch of 0.96 s, every 0.48 s: the last feature maps, averaged over time and frequency, as the network
computes them before it stores them in 8 bits. The network, its input and its package file are those of the backend
``yamnet``, with the same missing licence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from codec_superb.applications.aec.yamnet import YamNet
from codec_superb.applications.aec.yamnet_input import patches
from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.interface import Model, Samples, Setting


class YamNetFrames(FrameBackend, YamNet):
    """Frames ``(patches, 1024)``, from 0; the last patch is filled with silence, so that no sample is left out."""

    name: ClassVar[str] = "yamnet-frames"

    def prepare(self) -> Model:
        """Find the files of ``yamnet``."""
        model = self.found(self.chosen or self.weights)
        settings = {key: value for key, value in model.settings.items() if key != "pooling"} | self.options
        return replace(model, name=self.name, settings=settings)

    def classes(self, model: Model) -> Sequence[str]:  # noqa: ARG002 -- for those that classify
        """Return none: a frame holds no scores."""
        return ()

    def frames(self, samples: Samples) -> Frames:
        """Return one frame a patch."""
        return np.stack([self.pooled(patch) for patch in patches(samples)])


class YamNetVectors(YamNetFrames):
    """One vector ``(1024,)`` a clip: its frames, averaged unless the option ``pooling`` says otherwise."""

    name: ClassVar[str] = "yamnet-vectors"
    defaults: ClassVar[Mapping[str, Setting]] = {"pooling": "mean"}
