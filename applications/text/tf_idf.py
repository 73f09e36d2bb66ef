"""Backend ``tf-idf``: hashed term vectors, without a model; a lower bound that any text encoder should pass.

A text becomes ``(1 + ln count) * idf`` of its words, each added to or taken from one of 4,096 numbers by its hash
(Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009), at length 1.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model, Setting, TextEncoder, TextRole
from codec_superb.applications.model_files import sha256_of
from codec_superb.applications.text.pooling import unit
from codec_superb.applications.text.tokens import check_text

NAME = "tf-idf"
DIMENSIONS = 4096
WORD = re.compile(r"\w+")


class TfIdf(TextEncoder):
    """Term vectors of 4,096 numbers; ``tf-idf:FILE`` names a CSV file with the columns ``id`` (word) and ``weight``."""

    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Find the table of weights, if one was named. Raises MissingModel."""
        settings: dict[str, Setting] = {
            "terms": "words of letters and digits, lower case",
            "weight": "(1 + ln count) * idf, unit length",
            "dimensions": DIMENSIONS,
            "idf": "1 for every word",
        }
        given = self.variant or self.weights
        if not given:
            return Model(NAME, hashlib.sha256(b"tf-idf 1").hexdigest(), settings)
        file = Path(given).expanduser().absolute()
        _weights(file)
        settings["idf"] = "table; the greatest of it for words that it lacks"
        return Model(f"{NAME}:local:{file.name}", sha256_of([file]), settings, file)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- numpy knows neither
        """Read the table of weights."""
        self._weights = _weights(model.path) if model.path else {}
        self._unknown = max(self._weights.values(), default=1.0)

    def embed(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:  # noqa: ARG002 -- words are words
        """Count the words of each text; a text without words is all zeros."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        check_text(text)
        vector = np.zeros(DIMENSIONS)
        for word, count in Counter(WORD.findall(text.lower())).items():
            number = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
            # the random sign keeps the product of two texts unbiased under collisions (Weinberger et al., 2009)
            sign = 1 if number & 1 else -1
            vector[(number >> 1) % DIMENSIONS] += sign * (1 + math.log(count)) * self._weights.get(word, self._unknown)
        return unit(vector.astype(np.float32))


def _weights(file: Path) -> dict[str, float]:
    """Read a table of weights. Raises MissingModel."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as rows:  # Excel begins CSV with a byte-order mark
            weights = {row["id"].lower(): float(row["weight"]) for row in csv.DictReader(rows)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise MissingModel(
            f"{NAME}: expected a CSV file with the columns id and weight, got {file.name}: {error}; correct it"
        ) from error
    if not weights or not all(math.isfinite(weight) and weight >= 0 for weight in weights.values()):
        raise MissingModel(f"{NAME}: {file.name}: expected weights of at least 0, got others or none; correct it")
    return weights
