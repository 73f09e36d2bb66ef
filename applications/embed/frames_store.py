"""Frames of sounds by a frozen encoder, computed once and kept on disk by encoder and sound."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Backend, Item, Model, Samples, Sound
from codec_superb.data_manifests.errors import AudioFileError
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.home import codec_superb_home

Frames = NDArray[np.float32]
Load = Callable[[int], Samples]
"""Returns mono samples at a rate in Hz."""


def encoder_digest(model: Model) -> str:
    """Return the identity of an encoder: its name, weights and settings."""
    said = {"name": model.name, "sha256": model.sha256, "settings": dict(model.settings)}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def sound_key(manifest_hash: str, clip: str) -> str:
    """Return the name of a reference: the dataset's hash stands for its samples."""
    return f"{manifest_hash} {clip}"


class FramesStore:
    """Gives frames of sounds; encodes those that are not kept. Loads the encoder when it is needed first."""

    def __init__(self, encoder: Backend, model: Model, device: str, threads: int) -> None:
        self._encoder, self.model = encoder, model
        self._device, self._threads = device, threads
        self.digest = encoder_digest(model)
        self._folder = home_of("frames") / self.digest[:16]
        self._loaded = False

    def of(self, key: str, load: Load) -> Frames:
        """Return ``(frames, dimensions)`` of the sound that ``key`` names, whatever it is called elsewhere.

        Raises PredictionFailed with the reason where it has none: it cannot be read, or is too short for a frame.
        """
        name = hashlib.sha256(key.encode()).hexdigest()
        file = self._folder / name[:2] / f"{name}.npy"
        with suppress(OSError, ValueError, EOFError):  # absent, or damaged: it is computed
            kept: Frames = np.load(file, allow_pickle=False)
            return kept
        found = self.encode(load)
        content = io.BytesIO()
        np.save(content, found, allow_pickle=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        # without fsync: what a power loss takes is computed again
        write_atomically(file, content.getvalue(), sync=False)
        return found

    def encode(self, load: Load) -> Frames:
        """Return the frames of a sound that is not kept; errors as :meth:`of`."""
        try:
            samples = load(self._encoder.rate)
        except AudioFileError as error:
            raise PredictionFailed(str(error)) from error
        if not samples.size:
            raise PredictionFailed("expected a sound, got one of 0 samples")
        (answer,) = self._ready().predict([Sound(Item("", "speech"), samples)])
        if isinstance(answer, Exception):
            raise PredictionFailed(str(answer)) from answer
        if isinstance(answer, str) or answer.ndim != 2:  # noqa: PLR2004 -- frames by dimensions
            raise PredictionFailed(f"{self.model.name}: expected frames (frames, dimensions), got another prediction")
        if not np.isfinite(answer).all():
            raise PredictionFailed(f"{self.model.name}: expected finite frames, got NaN or infinity")
        return answer

    def close(self) -> None:
        """Release the encoder."""
        if self._loaded:
            self._encoder.close()
            self._loaded = False

    def _ready(self) -> Backend:
        if not self._loaded:
            self._encoder.load(self.model, self._device, self._threads)
            self._loaded = True
        return self._encoder


def home_of(kind: str) -> Path:
    """Return the folder of what is kept of this benchmark: ``frames``, ``decoders``, ``results``."""
    return codec_superb_home() / "xares" / kind
