"""Memory that runs out is one error, whichever library says so; what is no such error stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.applications.asr import item

from codec_superb.applications.errors import OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Prediction, Sound
from codec_superb.applications.memory import is_out_of_memory, raises_out_of_memory
from codec_superb.applications.one_by_one import one_by_one

ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA failed with error out of memory"),
    RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    MemoryError(),
    MemoryError("std::bad_alloc"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_every_librarys_way_is_known(error: Exception) -> None:
    """What torch, CTranslate2, ONNX Runtime and Python raise becomes OutOfMemory, with what did not fit."""
    assert is_out_of_memory(error)
    expected = r"a batch of 9 clips does not fit into memory: .+"
    with pytest.raises(OutOfMemory, match=expected) as caught, raises_out_of_memory("a batch of 9 clips"):
        raise error
    assert caught.value.__cause__ is error


def test_torch_really_runs_out() -> None:
    """An allocation of a million gigabytes on the CPU is known for what it is."""
    with pytest.raises(OutOfMemory), raises_out_of_memory("a million gigabytes"):
        torch.empty(10**15)


def test_numpy_really_runs_out() -> None:
    """So is one of numpy."""
    with pytest.raises(OutOfMemory), raises_out_of_memory("a million gigabytes"):
        np.ones(10**15, np.uint8)


@pytest.mark.parametrize("error", [ValueError("bad shape"), PredictionFailed("silent"), KeyboardInterrupt()])
def test_other_errors_stay(error: BaseException) -> None:
    """Anything else passes unchanged."""
    with pytest.raises(type(error)) as caught, raises_out_of_memory("a clip"):
        raise error
    assert caught.value is error


class TestOneByOne:
    """Sounds that are answered one after the other."""

    SOUNDS = tuple(Sound(item(str(size)), np.ones(size, np.float32)) for size in (3, 0, 2))

    def test_an_error_stands_in_the_place_of_its_answer(self) -> None:
        """Answers come in order; the sound that fails costs itself, as does one without samples."""

        def answer(sound: Sound) -> Prediction:
            if sound.samples.size == 2:
                raise ValueError("two")
            return sound.item.clip

        said, empty, failed = one_by_one(answer, self.SOUNDS)
        assert said == "3"
        assert isinstance(empty, PredictionFailed)
        assert isinstance(failed, ValueError)

    def test_memory_costs_the_batch(self) -> None:
        """A sound that does not fit is raised, for the caller to free what it holds."""

        def answer(_: Sound) -> Prediction:
            raise RuntimeError("CUDA out of memory")

        with pytest.raises(OutOfMemory, match="3 does not fit"):
            one_by_one(answer, self.SOUNDS)
