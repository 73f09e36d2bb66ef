"""emotion2vec with its nine classes, by FunASR in a private environment: the probe of the Codec-SUPERB challenge.

The challenge asks ``iic/emotion2vec_base_finetuned`` at revision v2.0.4 for the best class of each clip of RAVDESS; on
the originals 76.46 % were right. Nothing is trained. The published weights have not been run in this project:
tests build a small model of the package with random weights.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Model, Prediction, Samples, Setting
from codec_superb.applications.isolated.funasr import FunASRBackend
from codec_superb.applications.isolated.modelscope import ModelScopeRepository

TOKENS = ("tokens.txt", "tokens.json")
WORDS = {
    "angry": "anger",
    "disgusted": "disgust",
    "fearful": "fear",
    "happy": "happiness",
    "neutral": "neutral",
    "other": "other",
    "sad": "sadness",
    "surprised": "surprise",
    "<unk>": "unknown",
}
"""The model's classes as the datasets here call them. RAVDESS has a ``calm`` besides: no class of the model is that."""
_UNUSED = "unuse"
"""Begin of the names that the package itself leaves out of its answer."""


class Emotion2Vec(FunASRBackend):
    """Probabilities of nine emotions; ``emotion2vec:iic/emotion2vec_plus_large`` for another checkpoint."""

    label: ClassVar[str] = "emotion2vec"
    default_repository: ClassVar[ModelScopeRepository] = ModelScopeRepository(
        "iic/emotion2vec_base_finetuned", "v2.0.4"
    )
    kinds: ClassVar[tuple[str, ...]] = ("Emotion2vec",)
    files: ClassVar[tuple[tuple[str, ...], ...]] = (("config.yaml",), ("model.pt", "emotion2vec_base.pt"), TOKENS)

    def settings(self) -> dict[str, Setting]:
        """Return the settings of the prediction."""
        return {"pooling": "mean over frames, softmax", "trained": "by its publisher"}

    def classes(self, model: Model) -> Sequence[str]:
        """Return the names of the classes in the order of a prediction's scores, as the datasets here call emotions.

        Raises MissingModel when the list of tokens cannot be read or names an emotion twice.
        """
        assert model.path is not None
        names = [_word(token) for token in _tokens(model.path) if not token.startswith(_UNUSED)]
        if len(set(names)) < len(names) or not names:
            raise MissingModel(f"{model.path}: expected each emotion once in {TOKENS[0]}, got {', '.join(names)}")
        return names

    def load(self, model: Model, device: str, threads: int) -> None:
        """Start the worker and open the model in it."""
        self._count = len(self.classes(model))
        super().load(model, device, threads)

    def answer(self, samples: Samples) -> Prediction:
        """Return one probability a class."""
        scores = super().answer(samples)
        if isinstance(scores, str) or np.shape(scores) != (self._count,):
            got = "a text" if isinstance(scores, str) else f"{np.size(scores)}"
            raise PredictionFailed(f"expected scores of {self._count} emotions, got {got}")
        return scores


def _tokens(folder: Path) -> list[str]:
    """Return the model's own list: one a line, or a JSON list."""
    file = next(folder / name for name in TOKENS if (folder / name).is_file())
    try:
        text = file.read_text(encoding="utf-8")
        tokens = json.loads(text) if file.suffix == ".json" else text.splitlines()
    except ValueError as error:
        raise MissingModel(f"{file} cannot be read: {error}; fetch it again") from error
    return [str(token).strip() for token in tokens]


def _word(token: str) -> str:
    """Turn ``生气/angry`` into ``anger``."""
    name = token.rpartition("/")[2]
    return WORDS.get(name, name)
