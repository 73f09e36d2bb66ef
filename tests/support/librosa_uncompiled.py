"""librosa as Python runs it: what it leaves to numba is not compiled.

Importing ``librosa.core`` compiles loops for zero crossings and pitch that no test calls, 17 s of processor time in a
new environment, and its time warping compiles too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest


def _as_it_is(*arguments: Any, **_: Any) -> Any:
    """Stand for ``jit`` and ``guvectorize``, with and without arguments."""
    return arguments[0] if arguments and callable(arguments[0]) else lambda function: function


def _by_numpy(*_: Any, **__: Any) -> Callable[[Any], Any]:
    """Stand for ``vectorize``, which librosa calls with the types."""
    return np.vectorize


with pytest.MonkeyPatch.context() as _patch:
    _patch.setattr(numba, "jit", _as_it_is)
    _patch.setattr(numba, "guvectorize", _as_it_is)
    _patch.setattr(numba, "vectorize", _by_numpy)
    import librosa.core.spectrum
    import librosa.feature.spectral
    import librosa.sequence
    import librosa.util.utils

__all__ = ["librosa"]
