"""Vectors of a collection's texts and of transcripts, by the text encoder of a chain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codec_superb.applications.interface import Samples, TextEncoder, TextRole
from codec_superb.data_manifests import Dataset
from codec_superb.pipeline.probing.chain import SecondPlan


class StoredTextVectors:
    """Implements :class:`~codec_superb.applications.interface.TextVectors` for the encoder of a chain."""

    def __init__(self, plan: SecondPlan, dataset: Dataset, device: str) -> None:
        """Load nothing until a vector is asked for; ``device`` is what the user asked for."""
        self._plan = plan
        self._dataset = dataset
        self._device = device
        self._loaded: TextEncoder | None = None

    def of_collection(self, name: str, role: TextRole) -> Samples:
        """Return the vectors of a collection's texts, ``(rows, dimensions)`` in its order."""
        return self.of_texts([row.text for row in self._dataset.collection(name).rows()], role)

    def of_texts(self, texts: Sequence[str], role: TextRole) -> Samples:
        """Return the vectors of texts, ``(texts, dimensions)``."""
        distinct = list(dict.fromkeys(texts))
        row = {text: number for number, text in enumerate(distinct)}
        return np.asarray(self._encoder().embed(distinct, role))[[row[text] for text in texts]]

    def _encoder(self) -> TextEncoder:
        if self._loaded is None:
            stage = self._plan.stage
            if not isinstance(stage, TextEncoder):
                raise TypeError(f"{self._plan.model.name} encodes no texts")
            stage.load(self._plan.model, "cpu" if self._device == "auto" else self._device, 0)
            self._loaded = stage
        return self._loaded
