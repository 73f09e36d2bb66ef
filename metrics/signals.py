"""Validated audio of a pair, and what is derived from it (resampled forms, spectra, pitch), each computed once.

Every metric function takes either plain arrays or :class:`Signal` objects. Plain arrays are the public way; signals let
:func:`codec_superb.metrics.score.score_pair` share work between metrics, and between the codecs of one clip.

Conventions: audio is mono, shape ``(samples,)``, float32 or float64, nominally in [-1, 1] (values outside are legal:
they are clipped sound, not an error). Integers are refused, because their scale cannot be known. Any memory layout is
accepted. The arrays of the caller are copied, never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codec_superb.metrics.errors import InvalidAudio

T = TypeVar("T")

_RATE_RANGE = (1_000, 384_000)


class Signal:
    """One valid mono signal with a memory of what was derived from it.

    The memory lives as long as the object: a caller who scores many codecs on one clip keeps the signal of its
    reference for that long, and drops it with the clip.
    """

    __slots__ = ("__weakref__", "_derived", "rate", "samples")

    def __init__(self, audio: ArrayLike, rate: int, name: str = "audio") -> None:
        self.samples = _checked(audio, name)
        self.rate = _checked_rate(rate)
        self._derived: dict[Hashable, Any] = {}

    def derived(self, key: Hashable, make: Callable[[Signal], T]) -> T:
        """Return ``make(self)``, computed on the first call with ``key`` only."""
        if key not in self._derived:
            self._derived[key] = make(self)
        return cast("T", self._derived[key])

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.samples.size / self.rate

    @property
    def single(self) -> NDArray[np.float32]:
        """The samples in single precision, for the spectra."""
        return self.derived("single", lambda signal: signal.samples.astype(np.float32))

    @property
    def silent(self) -> bool:
        """Whether every sample is zero."""
        return self.derived("silent", lambda signal: not signal.samples.any())

    def at(self, rate: int) -> NDArray[np.float64]:
        """Return the samples at ``rate`` Hz, resampled with soxr VHQ where the rates differ."""
        if rate == self.rate:
            return self.samples
        return self.derived(("at", rate), lambda signal: _resampled(signal, rate))


Audio = NDArray[np.floating[Any]] | Signal
"""What a metric function takes: an array of shape ``(samples,)``, or a Signal."""


def pair(reference: Audio, resynthesis: Audio, rate: int) -> tuple[Signal, Signal]:
    """Return both as signals of equal length at ``rate`` Hz. Raises InvalidAudio, which says what was wrong."""
    first = _as_signal(reference, rate, "reference")
    second = _as_signal(resynthesis, rate, "resynthesis")
    if first.samples.size != second.samples.size:
        raise InvalidAudio(
            f"Reference and resynthesis must have the same length; got {first.samples.size} and {second.samples.size} "
            "samples. Cut or pad the resynthesis where it was made."
        )
    return first, second


def _as_signal(audio: Audio, rate: int, name: str) -> Signal:
    if not isinstance(audio, Signal):
        return Signal(audio, rate, name)
    if audio.rate != rate:
        raise InvalidAudio(f"The {name} was prepared at {audio.rate} Hz and is scored at {rate} Hz.")
    return audio


def _checked(audio: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(audio)
    # float16 has 11 bits of mantissa: less than 16-bit sound
    if array.dtype not in (np.float32, np.float64):
        raise InvalidAudio(
            f"The {name} must be float32 or float64 in [-1, 1]; got {array.dtype}. "
            "Divide integer samples by full scale."
        )
    if array.ndim != 1 or array.size == 0:
        raise InvalidAudio(f"The {name} must be mono of shape (samples,) with samples > 0; got shape {array.shape}.")
    # always a copy; C order, since numba would compile every loop again for another layout
    samples = np.array(array, dtype=np.float64, order="C")
    with np.errstate(invalid="ignore", over="ignore"):
        total = samples.sum()  # tells in one pass; it may overflow, therefore the second look
    if not np.isfinite(total) and not np.isfinite(samples).all():
        bad = int(np.count_nonzero(~np.isfinite(samples)))
        raise InvalidAudio(f"The {name} must be finite; {bad} of {samples.size} samples are NaN or infinite.")
    return samples


def _checked_rate(rate: int) -> int:
    low, high = _RATE_RANGE
    if not isinstance(rate, int | float | np.integer | np.floating) or int(rate) != rate or not low <= rate <= high:
        raise InvalidAudio(f"The sampling rate must be a whole number of Hz from {low} to {high}; got {rate!r}.")
    return int(rate)


def _resampled(signal: Signal, rate: int) -> NDArray[np.float64]:
    import soxr

    # VHQ has 28 bits of precision; HQ, soxr's default, has 20
    return cast("NDArray[np.float64]", soxr.resample(signal.samples, signal.rate, rate, quality="VHQ"))
