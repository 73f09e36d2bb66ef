"""What listeners on torch share: an error costs one clip, and memory that runs out is told as such."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from codec_superb.applications.errors import OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Item, Model, Sound
from codec_superb.applications.quality.torch_mos import TorchMosBackend


class Moody(TorchMosBackend):
    """Says how long a clip is; fails on some lengths as torch does."""

    shortest = 3

    def prepare(self) -> Model:
        """Need no file."""
        return Model("moody", "0" * 64)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Need no network."""
        self.device = device

    def opinion(self, samples: Any) -> Any:
        """Count the samples."""
        if len(samples) == 13:
            raise ValueError("thirteen")
        if len(samples) == 99:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
        return samples.new_tensor([float(len(samples))])


def asked(*lengths: int) -> list[Any]:
    """Ask about clips of these lengths."""
    backend = Moody()
    backend.load(backend.prepare(), "cpu", 1)
    return list(backend.predict([Sound(Item(str(n), "speech"), np.ones(n, np.float32)) for n in lengths]))


def test_an_error_costs_its_clip_alone() -> None:
    """Those before and behind have their answers."""
    before, thirteen, short, none, behind = asked(5, 13, 2, 0, 7)
    assert (float(before[0]), float(behind[0])) == (5.0, 7.0)
    assert isinstance(thirteen, ValueError)
    assert isinstance(short, PredictionFailed)
    assert isinstance(none, PredictionFailed)


def test_memory_that_runs_out_on_a_processor_is_out_of_memory() -> None:
    """Torch says it with a plain RuntimeError there; the caller must halve the batch."""
    with pytest.raises(OutOfMemory, match="does not fit into memory"):
        asked(5, 99)
