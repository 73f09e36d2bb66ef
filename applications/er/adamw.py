"""AdamW in numpy. Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIRST_DECAY, SECOND_DECAY = 0.9, 0.999
EPSILON = 1e-8


class AdamW:
    """Changes its parameters in place, a step at a time."""

    def __init__(self, parameters: Sequence[Floats], rate: float, decay: float) -> None:
        self._parameters = tuple(parameters)
        self._rate, self._decay = rate, decay
        self._first = [np.zeros_like(parameter) for parameter in parameters]
        self._second = [np.zeros_like(parameter) for parameter in parameters]
        self._steps = 0

    def step(self, gradients: Sequence[Floats]) -> None:
        """Move each parameter against its gradient, after shrinking it by rate times decay."""
        self._steps += 1
        for place, gradient in enumerate(gradients):
            parameter, first, second = self._parameters[place], self._first[place], self._second[place]
            first += (1 - FIRST_DECAY) * (gradient - first)
            second += (1 - SECOND_DECAY) * (np.square(gradient) - second)
            parameter *= 1 - self._rate * self._decay
            scale = np.sqrt(second / (1 - SECOND_DECAY**self._steps)) + EPSILON
            parameter -= self._rate / (1 - FIRST_DECAY**self._steps) * first / scale
