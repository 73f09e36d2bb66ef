"""Score one pair with several metrics at once, sharing spectra, resampling and pitch between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Value:
    """The outcome of one metric on one pair."""

    status: Literal["ok", "undefined", "failed"]
    value: float | None
    """None unless status is ``ok``; then finite."""
    reason: str = ""
    """Why there is no value."""


def score_pair(
    reference: NDArray[np.float32], resynthesis: NDArray[np.float32], rate: int, keys: Sequence[str]
) -> dict[str, Value]:
    """Score one mono pair: arrays of shape ``(samples,)``, equal length, same ``rate`` in Hz; a Value for each key.

    A metric that raises Undefined is ``undefined``, one that raises anything else is ``failed``; the others go on.
    Raises InvalidAudio when the pair itself is not valid, UnknownMetric (with near matches) for an unknown key.
    """
    raise NotImplementedError  # the metric branch
