"""Sound as the Python interface takes it: arrays of numpy or torch, and back in the form in which it came."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.errors import InvalidAudio

Sound: TypeAlias = Any
"""A floating-point array of numpy or torch in [-1, 1]: ``(samples,)`` or ``(channels, samples)``."""


class Form(NamedTuple):
    """In which form a sound came."""

    axes: int
    like: Any
    """A tensor whose device and kind the answer has; None for numpy."""

    def back(self, audio: NDArray[np.float32]) -> Sound:
        """Return ``(channels, samples)`` in this form."""
        shaped = audio[0] if self.axes == 1 and audio.shape[0] == 1 else audio
        if self.like is None:
            return shaped
        import torch

        # from_numpy takes no array with a negative stride, such as a reversed one
        return torch.from_numpy(np.ascontiguousarray(shaped)).to(self.like.device)


def taken(sound: Sound, name: str = "sound") -> NDArray[np.floating[Any]]:
    """Return an array of numpy with the samples of ``sound``, of any number of axes. Raises InvalidAudio."""
    if hasattr(sound, "detach"):  # torch
        dtype = str(sound.dtype).removeprefix("torch.")
        # bfloat16 has no counterpart in numpy: Tensor.numpy() raises TypeError
        if dtype not in {"float32", "float64"}:
            told = f"got a tensor of {dtype}: {_remedy(dtype)}."
            raise InvalidAudio(f"The {name} must be float32 or float64 in [-1, 1]; {told}")
        return np.asarray(sound.detach().cpu())
    try:
        array = np.asarray(sound)
    except ValueError:  # numpy since 1.24, of lists of several lengths
        array = np.empty(0, dtype=object)
    if array.dtype not in (np.float32, np.float64):
        raise InvalidAudio(
            f"The {name} must be an array of float32 or float64 in [-1, 1]; got {_kind(sound)}: "
            f"{_remedy(str(array.dtype)) if array.ndim and array.dtype.kind in 'biufc' else 'read it first'}."
        )
    return array


def check_axes(array: NDArray[Any], name: str) -> None:
    """Refuse ``(samples, 1)`` and ``(samples, 2)``: what stands first is no channel. Raises InvalidAudio."""
    if array.ndim > 1 and array.shape[-1] <= 2 < array.shape[-2]:  # noqa: PLR2004 - channels
        raise InvalidAudio(f"The {name} has the shape {array.shape}, samples first; give its transpose, array.T.")


def _kind(sound: object) -> str:
    return f"{sound.dtype}" if isinstance(sound, np.ndarray) else type(sound).__name__


def _remedy(dtype: str) -> str:
    if dtype.startswith(("int", "uint")):
        return "divide integer samples by full scale"
    return "convert it with .float() or .astype('float32')"


def as_channels(sound: Sound, name: str = "sound") -> tuple[NDArray[np.float32], Form]:
    """Return float32 ``(channels, samples)``, and the form in which it came. Raises InvalidAudio."""
    array = taken(sound, name)
    if array.ndim not in (1, 2) or not array.size:
        raise InvalidAudio(f"The {name} must be (samples,) or (channels, samples); got shape {array.shape}.")
    check_axes(array, name)
    form = Form(array.ndim, sound if hasattr(sound, "detach") else None)
    return np.ascontiguousarray(np.atleast_2d(array), dtype=np.float32), form
