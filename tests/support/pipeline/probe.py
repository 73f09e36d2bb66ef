"""Backends that tests of probing put into the catalogue: they measure, keep a record of what they were asked, and fail.

What a clip does to a backend is said by the number of its samples, modulo 100 (``FAULTS``).
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from codec_superb.applications import catalogue
from codec_superb.applications.catalogue import BackendEntry
from codec_superb.applications.errors import MissingModel, OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Backend, Item, Model, Prediction, Samples, Sound

RECORD = "PROBE_RECORD"
"""Variable that names the file to which every clip asked about is added, a line each."""
KILLS, RAISES, REFUSES, GIVES_NAN = 71, 72, 73, 74
"""A killed worker, an exception for the whole batch, one for the clip, and an answer that is none."""


class Levels(Backend):
    """Four numbers of a clip's level, in the place of opinions; the variant is part of the model's identity."""

    one_copy_per_worker: ClassVar[bool] = True
    batch_seconds: ClassVar[float] = 1.0

    def prepare(self) -> Model:
        """Describe a model that needs no file."""
        if self.variant == "missing":
            raise MissingModel("levels:missing: download levels.bin and put it into --weights DIR")
        name = type(self).__name__.lower() + (f":{self.variant}" if self.variant else "")
        return Model(name, hashlib.sha256(name.encode()).hexdigest(), {"window": 1}, random=self.variant == "random")

    def load(self, model: Model, device: str, threads: int) -> None:
        """Remember how it was loaded."""
        self.loaded = (model.name, device, threads)
        if self.variant == "fatal":
            os.kill(os.getpid(), signal.SIGKILL)

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Measure each sound, or do what its length says."""
        if self.variant == "hungry" and len(batch) > 2:
            raise OutOfMemory(f"no room for {len(batch)} clips")
        record(batch)
        for sound in batch:
            fault = sound.samples.size % 100
            if fault == KILLS:
                os.kill(os.getpid(), signal.SIGKILL)
            if fault == RAISES:
                raise ValueError(f"cannot stand {sound.item.clip}")
        return [self._answer(sound) for sound in batch]

    def _answer(self, sound: Sound) -> Prediction | Exception:
        fault = sound.samples.size % 100
        if fault == REFUSES:
            return PredictionFailed("no speech in it")
        level = np.float32(np.sqrt(np.mean(np.square(sound.samples, dtype=np.float64))))
        if sound.reference is not None:
            level = np.float32(np.mean(np.abs(sound.samples - sound.reference)))
        answer = np.array([1 + level, 2 + level, 3 + level, 4 + level], np.float32)
        return answer * np.float32(np.nan) if fault == GIVES_NAN else answer


class Differences(Levels):
    """Compares with the reference, at another rate."""

    needs_reference: ClassVar[bool] = True
    rate: ClassVar[int] = 8_000


class Large(Levels):
    """One process with all cores."""

    one_copy_per_worker: ClassVar[bool] = False

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Tell how it was loaded: the number of threads as the first opinion, over a hundred."""
        threads = self.loaded[2]
        return [np.array([threads / 100, 1, 1, 1], np.float32) for _ in batch]


class Voices(Levels):
    """A spectrum in 16 bands, in the place of a speaker embedding."""

    def prepare(self) -> Model:
        """Describe a model that needs no file."""
        return Model("voices", hashlib.sha256(b"voices").hexdigest())

    def _answer(self, sound: Sound) -> Prediction | Exception:
        spectrum = np.abs(np.fft.rfft(sound.samples, 1024))[: 16 * 32].reshape(16, 32).mean(axis=1)
        return np.log1p(spectrum).astype(np.float32)


class Bands(Voices):
    """The same bands every 64 ms: frames."""

    def prepare(self) -> Model:
        """Describe a model that needs no file."""
        return Model("bands", hashlib.sha256(b"bands").hexdigest(), {"hop_s": 0.064})

    def _answer(self, sound: Sound) -> Prediction | Exception:
        whole = sound.samples[: len(sound.samples) // 1024 * 1024].reshape(-1, 1024)
        spectra = np.abs(np.fft.rfft(whole))[:, : 16 * 32].reshape(len(whole), 16, 32).mean(axis=2)
        return np.log1p(spectra).astype(np.float32)


class Trained(Levels):
    """Learns the mean level of all references, which becomes part of the model."""

    def train(self, items: Sequence[Item], load: Callable[[str], Samples], model: Model, device: str = "auto") -> Model:
        """Measure every reference of the dataset."""
        levels = [float(np.abs(load(item.clip)).mean()) for item in items]
        return Model("trained", model.sha256, {"clips": len(items), "level": round(float(np.mean(levels)), 6)})


def record(batch: Sequence[Sound]) -> None:
    """Add the clips asked about to the record, in one write."""
    if path := os.environ.get(RECORD):
        with Path(path).open("ab", buffering=0) as file:
            file.write("".join(f"{sound.item.clip}\n" for sound in batch).encode())


ENTRIES = {
    name: BackendEntry(name, probes, f"support.pipeline.probe:{kind.__name__}", "probes", "for tests")
    for name, probes, kind in (
        ("levels", ("dnsmos",), Levels),
        ("differences", ("dnsmos",), Differences),
        ("large", ("dnsmos",), Large),
        ("voices", ("asv", "sim"), Voices),
        ("bands", ("frames",), Bands),
        ("trained", ("dnsmos",), Trained),
    )
}


def install() -> None:
    """Put the backends into the catalogue of this process."""
    catalogue.BACKENDS.update(ENTRIES)
