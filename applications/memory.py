"""Recognises out-of-memory errors of every library, so that the caller can halve the batch and go on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from codec_superb.applications.errors import OutOfMemory

_PHRASES = (
    "out of memory",  # torch and CTranslate2 on CUDA
    "can't allocate memory",  # torch on a CPU
    "not enough memory",  # torch on Windows
    "failed to allocate memory",  # ONNX Runtime
    "cublas_status_alloc_failed",  # cuBLAS
    "std::bad_alloc",  # libraries in C++
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of any library means that memory ran out; known by type, and by text for RuntimeError and kin.

    ``torch.OutOfMemoryError`` is a RuntimeError that says "out of memory", so that no library is imported here.
    """
    if isinstance(error, MemoryError | OutOfMemory):
        return True
    text = str(error).lower()
    return isinstance(error, Exception) and any(phrase in text for phrase in _PHRASES)


@contextmanager
def raises_out_of_memory(what: str) -> Iterator[None]:
    """Turn every library's way of running out of memory into OutOfMemory; ``what`` says what did not fit.

    Empties torch's cache on an accelerator, so that half the batch finds room.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OutOfMemory) or not is_out_of_memory(error):
            raise
        _empty_cache()
        reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise OutOfMemory(f"{what} does not fit into memory: {reason[0]}") from error


def _empty_cache() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
