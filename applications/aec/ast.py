"""Backend ``ast``: the Audio Spectrogram Transformer on AudioSet's 527 classes, as in the paper, by transformers.

Unless another checkpoint of ``ASTForAudioClassification`` is named, it is the authors' best,
``MIT/ast-finetuned-audioset-10-10-0.4593`` (BSD-3-Clause). The published
weights have not been run in this project: the code is tested on checkpoints with seeded random weights, and its input
against the Kaldi port of torchaudio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.ast_input import RATE, WINDOW, AstInput
from codec_superb.applications.aec.torch_classifier import TorchClassifier
from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.transformers_checkpoint import (
    CONFIG,
    PREPROCESSOR,
    find_checkpoint,
    load_network,
    read_json,
)

if TYPE_CHECKING:
    import torch

REPOSITORY = "MIT/ast-finetuned-audioset-10-10-0.4593"


class AudioSpectrogramTransformer(TorchClassifier):
    """Probability of each class, by a sigmoid of its own; a clip over 10.24 s is the mean over its windows.

    ``ast:OWNER/NAME[@REVISION]``, ``ast:DIR`` or ``--weights DIR`` names another checkpoint.
    """

    rate: ClassVar[int] = RATE
    shortest: ClassVar[int] = WINDOW

    def prepare(self) -> Model:
        """Find or fetch configuration, preprocessor and weights."""
        found = find_checkpoint("ast", REPOSITORY, (PREPROCESSOR,), self.variant or self.weights)
        wanted = _input(found.read(PREPROCESSOR))
        name = found.source.rpartition("/")[2] if found.source == REPOSITORY else found.source
        settings: dict[str, Setting] = {
            "window_s": wanted.window / RATE,
            "pooling": "mean of the class probabilities of evenly spaced windows that cover the clip",
            "front_end": f"Kaldi filter bank of {wanted.bands} bands",
        }
        return Model(f"ast:{name}", found.sha256, settings, found.folder, found.random)

    def classes(self, model: Model) -> Sequence[str]:
        """Return the names that the checkpoint's configuration gives its outputs."""
        assert model.path is not None
        names = read_json(model.path / CONFIG).get("id2label")
        if not isinstance(names, dict) or sorted(map(int, names)) != list(range(len(names))):
            raise MissingModel(f"{model.name}: expected the names of the classes as id2label in {CONFIG}")
        return [str(names[str(number)]) for number in range(len(names))]

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the network. Raises MissingModel for a checkpoint of another."""
        assert model.path is not None
        self.device = device
        self._input = _input(read_json(model.path / PREPROCESSOR))
        self.window = self._input.window
        self._network = load_network("ASTForAudioClassification", model.path, device, threads)

    def features(self, samples: Samples) -> NDArray[np.float32]:
        """Return the normalised filter bank of a window."""
        return self._input(samples)

    def scores(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the probability of each class."""
        probabilities: torch.Tensor = self._network(batch).logits.sigmoid()
        return probabilities

    def close(self) -> None:
        """Release the network."""
        self._network = None


def _input(preprocessor: dict[str, object]) -> AstInput:
    """Read the checkpoint's input parameters. Raises MissingModel for ones that are not computed here."""
    rate = preprocessor.get("sampling_rate", RATE)
    if rate != RATE or preprocessor.get("do_normalize", True) is not True:
        raise MissingModel(f"{PREPROCESSOR}: expected normalised input at {RATE} Hz, got another (rate {rate})")
    usual = AstInput()
    return AstInput(
        bands=int(str(preprocessor.get("num_mel_bins", usual.bands))),
        frames=int(str(preprocessor.get("max_length", usual.frames))),
        mean=float(str(preprocessor.get("mean", usual.mean))),
        deviation=float(str(preprocessor.get("std", usual.deviation))),
    )
