"""Backend ``clap-joint``: CLAP's towers for sounds and for texts, whose vectors lie in one space.

The checkpoints are those of ``clap``. A text is embedded as it is, without a prompt, whatever its role; what is longer
than the tower takes (512 tokens with the usual one) is cut off. The published weights have not been run in this
project: the code is tested on checkpoints with seeded random weights, against transformers' own answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from codec_superb.applications.aec.clap import ClapTowers
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Model, Prediction, Samples, TextEncoder, TextRole

if TYPE_CHECKING:
    import torch

_AT_ONCE = 256
"""Texts whose vectors wait on the device."""


class ClapJoint(ClapTowers, TextEncoder):
    """Vectors of length 1, 512 numbers with the usual checkpoint.

    That of a clip over 10 s is the mean of its windows' vectors, scaled to length 1 again.
    """

    kind: ClassVar[str] = "clap-joint"

    def prepare(self) -> Model:
        """Find the checkpoint. Raises MissingModel."""
        model = super().prepare()
        pooling = "mean of the unit vectors of evenly spaced windows that cover the clip, scaled to length 1"
        return dataclasses.replace(model, settings={**model.settings, "pooling": pooling, "prompt": "none"})

    def scores(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the vector of each window, of which :meth:`predict` takes the mean."""
        return self.of_sound(batch)

    def embed(self, texts: Sequence[str], role: TextRole) -> Samples:  # noqa: ARG002 -- CLAP knows no roles
        """Return float32 of shape ``(texts, dimensions)``, each row of length 1."""
        found = [
            self.of_sentences(texts[start : start + _AT_ONCE]).float().cpu().numpy()
            for start in range(0, len(texts), _AT_ONCE)
        ]
        return np.concatenate(found) if found else np.zeros((0, self._network.config.projection_dim), np.float32)

    def _answer(self, samples: Samples) -> Prediction:
        mean = np.asarray(super()._answer(samples), np.float32)
        length = float(np.linalg.norm(mean))
        if not length:
            raise PredictionFailed("the vectors of the clip's windows cancel each other: their mean has no direction")
        return mean / np.float32(length)
