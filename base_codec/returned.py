"""Take over the sound that a user's own code returns: arrays of numpy or torch; each mistake is one sentence.

Accepted are floats of any precision, ``(samples,)`` or ``(channels, samples)``, also with further axes of one before
them, on any device and with gradients. The end may be a frame off, as models cut or fill a clip's last frame: what is
missing is filled with silence, what is too much is cut off. Anything else is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from codec_superb.base_codec.errors import CodingFailed
from codec_superb.base_codec.fitting import LARGEST, Audio

FRAME_S = 0.04
"""Seconds that may be missing at the end: a frame of most codecs; or a frame of the card, where it states a longer."""
BEYOND_S = 0.2
"""Seconds that may come behind the end: what fills the last frame or block of frames."""
_NEAR, _NEAR_S = 0.8, 1.0
"""Lengths of this ratio or nearer, and at most these seconds apart, differ by frames; others by the rate."""
_INT16 = "divide by 32768 and return float32"


_MISTAKES: tuple[tuple[type, str], ...] = (
    (Awaitable, "define it with `def`, not `async def`"),
    (Iterator, "return one array, such as np.concatenate(list(pieces)), in place of `yield`"),
    (tuple, "return the sound alone; its rate is that of the sound that was given"),
    (list, "return an array, np.asarray(samples, dtype=np.float32)"),
    (Mapping, "return the entry that holds the sound"),
)


class Wanted(NamedTuple):
    """What was given to the user's code, and must come back."""

    channels: int
    samples: int
    rate: int
    """Hz."""
    frame_s: float = FRAME_S
    """Seconds that may be missing."""


def sound_of(returned: object, what: str, wanted: Wanted) -> Audio:
    """Return float32 ``(channels, samples)`` as wanted. ``what`` names the user's code in errors.

    Raises CodingFailed with one sentence.
    """
    array = _array(returned, what)
    _check_numbers(array, what)
    while array.ndim > 2 and array.shape[0] == 1:  # noqa: PLR2004 - channels and samples
        array = array[0]
    array = array[np.newaxis] if array.ndim == 1 else array
    _check_shape(array, what, wanted)
    sound = np.ascontiguousarray(array, dtype=np.float32)
    _check_values(sound, what)
    return _fitted(sound, what, wanted)


def _refused(what: str, got: str, remedy: str) -> CodingFailed:
    return CodingFailed(f"{what} returned {got}: {remedy}")


def _array(returned: object, what: str) -> np.ndarray[Any, Any]:
    """Convert to numpy what is an array already."""
    if told := _no_array(returned):
        raise _refused(what, *told)
    try:
        if hasattr(returned, "detach"):  # torch
            tensor: Any = returned.detach()
            # bfloat16 is unknown to numpy
            return np.asarray((tensor.float() if tensor.is_floating_point() else tensor).cpu())
        return np.asarray(returned)
    except Exception as error:
        raise _refused(what, f"a {type(returned).__name__} that has no samples ({error})", "return numbers") from error


def _no_array(returned: object) -> tuple[str, str] | None:
    """Say what was returned in place of an array, and what to do about it; None for an array."""
    kind = type(returned).__name__
    if returned is None:
        return "None", "end it with `return` and the resynthesis"
    told = next((words for types, words in _MISTAKES if isinstance(returned, types)), None)
    if told is None and not (hasattr(returned, "detach") or hasattr(returned, "__array__")):
        told = "return the resynthesis as an array of numpy or torch"
    return None if told is None else (kind, told)


def _check_numbers(array: np.ndarray[Any, Any], what: str) -> None:
    if array.dtype.kind in "iu":
        raise _refused(what, f"{array.dtype}", f"samples are floats with full scale 1.0; {_INT16}")
    if array.dtype.kind != "f":
        raise _refused(what, f"an array of {array.dtype}", "return real samples, array.astype('float32')")


def _check_shape(array: np.ndarray[Any, Any], what: str, wanted: Wanted) -> None:
    shape, expected = array.shape, f"({wanted.channels}, {wanted.samples})"
    if array.ndim != 2 or not array.size:  # noqa: PLR2004 - channels and samples
        remedy = f"return (samples,) or (channels, samples), here {expected}"
        raise _refused(what, f"the shape {shape}" if array.size else f"no sample (shape {shape})", remedy)
    if shape[0] == wanted.channels:
        return
    if shape[1] == wanted.channels:
        raise _refused(what, f"the shape {shape}, samples first", "return its transpose, array.T")
    raise _refused(what, f"{shape[0]} channels for {wanted.channels}", f"return {expected}, such as their mean")


def _check_values(sound: Audio, what: str) -> None:
    bad = int(np.count_nonzero(~np.isfinite(sound)))
    if bad:
        raise _refused(what, f"NaN or Inf in {bad} of {sound.size} samples", "look for a division by 0 or a log of 0")
    peak = float(np.abs(sound).max())
    if peak > LARGEST:
        raise _refused(what, f"a peak of {peak:g}", f"full scale is 1.0; {_INT16}")


def _fitted(sound: Audio, what: str, wanted: Wanted) -> Audio:
    """Cut or fill the end by a frame at most."""
    got, samples = sound.shape[1], wanted.samples
    missing, beyond = max(wanted.frame_s, FRAME_S) * wanted.rate, BEYOND_S * wanted.rate
    if samples - missing <= got <= samples + beyond:
        return np.pad(sound[:, :samples], ((0, 0), (0, max(0, samples - got))))
    if abs(got - samples) > _NEAR_S * wanted.rate or not _NEAR < got / samples < 1 / _NEAR:
        raise _refused(
            what,
            f"{got} samples for {samples}, {got / samples:.3g} times as many",
            f"return as many as were given, at the same {wanted.rate} Hz, or state its own rate as `sampling_rate`",
        )
    if got < samples:
        allowed = f"at most {missing:.0f} ({1000 * missing / wanted.rate:.0f} ms) may be missing at the end"
        remedy = f"{allowed}: pad the sound to whole frames, or state the model's frame_rate in its card"
    else:
        remedy = f"at most {beyond:.0f} ({1000 * BEYOND_S:.0f} ms) may come behind the end: cut off what was padded"
    raise _refused(what, f"{got} samples for {samples}", remedy)
