"""The classifier on top of a speech model: weighted sum of its layers, then one linear layer.

After Yang et al., SUPERB, Interspeech 2021: the weights of the layers are a softmax of learned numbers, frames are
averaged. The mean over time comes first here, which is the same because all that follows is linear. Each number of a
layer is standardised by mean and deviation over the clips that the head is trained on. Training uses full batches
and starts from zeros: it draws no random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float32]
Floats = NDArray[np.float64]

EPOCHS = 300
LEARNING_RATE = 0.003
WEIGHT_DECAY = 0.01
"""Of AdamW. Chosen on a synthetic set; never tuned on a dataset with published results."""
# the defaults of torch.optim.AdamW
FIRST_DECAY, SECOND_DECAY = 0.9, 0.999
EPSILON = 1e-8
_DECIMALS = 3
"""Of a score: another processor moves one by 1e-5."""
LEAST_DEVIATION = 1e-3
"""Of a number, as a share of the largest of its layer: what varies less over the clips of training is left out.

The dead units of a network vary by rounding alone. Made as large as the others, 6e-8 of it moved a logit by 2.7, and
another processor found another class.
"""


@dataclass(frozen=True, slots=True)
class Head:
    """One trained head, for ``layers`` layers of ``dimensions`` numbers and ``classes`` classes."""

    layers: Array
    """Weight of each layer, shape ``(layers,)``, sum 1."""
    mean: Array
    """Shape ``(layers, dimensions)``."""
    deviation: Array
    """Shape ``(layers, dimensions)``; infinite for what is left out."""
    matrix: Array
    """Shape ``(classes, dimensions)``."""
    bias: Array
    """Shape ``(classes,)``."""

    def probabilities(self, pooled: Array) -> Array:
        """Return the probability of each class for the time-averaged layers ``(layers, dimensions)`` of one clip."""
        return _softmax(self.logits(pooled)).astype(np.float32)

    def logits(self, pooled: Array) -> Floats:
        """Return the score of each class before the softmax, shape ``(classes,)``, rounded to 0.001."""
        summed = self.layers.astype(np.float64) @ ((pooled.astype(np.float64) - self.mean) / self.deviation)
        # two classes without a clip have one score but for rounding, here of 64 bits: so their tie is one everywhere
        return np.asarray(self.matrix.astype(np.float64) @ summed + self.bias).round(_DECIMALS)


class AdamW:
    """Changes its parameters in place, a step at a time.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019.
    """

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
            # decoupled: the decay is no part of the gradient, and so is not scaled by its averages
            parameter *= 1 - self._rate * self._decay
            # both averages begin at zero: divided by what their weights sum to so far
            scale = np.sqrt(second / (1 - SECOND_DECAY**self._steps)) + EPSILON
            parameter -= self._rate / (1 - FIRST_DECAY**self._steps) * first / scale


def train_head(pooled: Array, targets: NDArray[np.int64], classes: int) -> Head:
    """Train on ``pooled`` of shape ``(clips, layers, dimensions)`` with the number of each clip's class."""
    return train_classes(pooled, np.eye(classes)[targets])


def train_classes(pooled: Array, wanted: Floats, *, one_each: bool = True) -> Head:
    """Train on ``pooled`` of shape ``(clips, layers, dimensions)``, with 1 in ``wanted`` ``(clips, classes)``.

    The loss is the cross entropy, over all classes where a clip has one each, else of each class for itself. Its
    gradient is written out: numpy needs two products with the layers a step, where a framework's many small steps wait
    for each other's threads.
    """
    link = _softmax if one_each else expit
    clips, layers, dimensions = pooled.shape
    # in 64 bits: the error of a class that no clip has is one number at first, whose products with numbers of mean 0
    # are rounding alone, and AdamW takes steps of its rate however small a gradient is
    layered = pooled.transpose(1, 0, 2).astype(np.float64, order="C")
    mean, deviation = layered.mean(axis=1), layered.std(axis=1)
    deviation[deviation <= LEAST_DEVIATION * deviation.max(axis=-1, keepdims=True)] = np.inf
    layered -= mean[:, None]
    layered /= deviation[:, None]
    inputs = layered.reshape(layers, -1)
    classes = wanted.shape[1]
    mix, matrix, bias = np.zeros(layers), np.zeros((classes, dimensions)), np.zeros(classes)
    optimiser = AdamW((mix, matrix, bias), LEARNING_RATE, WEIGHT_DECAY)
    for _ in range(EPOCHS):
        weights = _softmax(mix)
        summed = (weights @ inputs).reshape(clips, dimensions)
        error = (link(summed @ matrix.T + bias) - wanted) / clips
        by_layer = inputs @ (error @ matrix).ravel()
        # the Jacobian of a softmax is diag(w) - w wᵀ
        optimiser.step((weights * (by_layer - weights @ by_layer), error.T @ summed, error.sum(axis=0)))
    return Head(*(part.astype(np.float32) for part in (_softmax(mix), mean, deviation, matrix, bias)))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    # Less the largest, so that no power overflows.
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return found
