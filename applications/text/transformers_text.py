"""Backend ``transformers-text``: text encoders of transformers, and folders of sentence-transformers.

``transformers-text:OWNER/NAME[@REVISION]`` names a repository of sentence-transformers on the hub,
``transformers-text:DIR`` or ``--weights DIR`` a folder: of sentence-transformers, or a plain checkpoint of an encoder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.applications.interface import Model, Setting, TextEncoder, TextRole
from codec_superb.applications.model_files import find_model
from codec_superb.applications.text.pooling import LONG_TEXT, joined
from codec_superb.applications.text.sentence_folder import (
    LENGTH,
    MODULES,
    PROMPTS,
    SentenceSettings,
    pooling_file,
    read_sentence_settings,
)
from codec_superb.applications.text.tokens import Tokeniser
from codec_superb.applications.transformers_checkpoint import find_checkpoint, load_network
from codec_superb.data_manifests.files import listing_sha256, unchanged_file_sha256
from codec_superb.data_manifests.hub.hub_files import named_repository

NAME, TOKENISER = "transformers-text", "tokenizer.json"
MAX_TOKENS = 8192
"""At most, whatever a checkpoint says of itself."""
_UNUSED = frozenset({"pooler.dense.weight", "pooler.dense.bias"})


class TransformersText(TextEncoder):
    """One vector a text, by the folder's own pooling; texts are embedded one by one, never padded."""

    def prepare(self) -> Model:
        """Find or fetch configuration, tokeniser and weights. Raises MissingModel, MissingPackage."""
        given = self.variant or self.weights
        if not given:
            raise ApplicationError(f"{NAME} has no usual model: name one, {NAME}:OWNER/NAME@REVISION or {NAME}:DIR")
        repository = str(given) if named_repository(str(given)) else "OWNER/NAME"
        found = find_checkpoint(NAME, repository, (TOKENISER,), given)
        files = self._sentence_files(found.folder, str(given))
        how = read_sentence_settings(found.folder, positions=_positions(found.config))
        settings: dict[str, Setting] = {
            "pooling": how.pooling,
            "unit_length": how.unit_length,
            "max_tokens": how.max_tokens,
            "long_text": LONG_TEXT,
            **{f"prompt_{role}": prompt for role, prompt in how.prompts.items() if prompt},
        }
        hashes = {name: unchanged_file_sha256(found.folder / name) for name in files}
        sha256 = listing_sha256({"checkpoint": found.sha256, **hashes})
        return Model(f"{NAME}:{found.source}", sha256, settings, found.folder, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load tokeniser and network."""
        assert model.path is not None
        self._how = _how(model)
        self._tokeniser = Tokeniser(model.path / TOKENISER, self._how.max_tokens)
        self._network = load_network("AutoModel", model.path, device, threads, unused=_UNUSED)
        self._device = device

    def embed(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Embed the texts one by one, each after the prompt of its role."""
        prompt = self._how.prompts.get(role, "")
        return np.stack([self._vector(prompt + text) for text in texts])

    def close(self) -> None:
        """Release the network."""
        self._network = None

    def _vector(self, text: str) -> NDArray[np.float32]:
        parts = [self._pooled(tokens) for tokens in self._tokeniser.parts(text)]
        return joined(parts, unit_length=self._how.unit_length)

    def _pooled(self, tokens: list[int]) -> NDArray[np.float32]:
        import torch

        with torch.inference_mode():
            given = torch.tensor([tokens], device=self._device)
            rows: Any = self._network(input_ids=given, attention_mask=torch.ones_like(given)).last_hidden_state[0]
            pooled = {
                "mean": lambda: rows.mean(dim=0), "cls": lambda: rows[0], "max": lambda: rows.amax(dim=0),
                "last": lambda: rows[-1],
            }[self._how.pooling]()  # fmt: skip
        return np.asarray(pooled.float().cpu().numpy(), np.float32)

    def _sentence_files(self, folder: Path, given: str) -> list[str]:
        """Return those of sentence-transformers' files that are there; a repository must have ``modules.json``."""
        named = named_repository(given)
        if named is not None:
            # Without it the pooling would be a guess, and a hub that cannot be reached must not decide it.
            folder = find_model(NAME, named[0], (MODULES,), revision=named[1]).folder
            for name in (pooling_file(folder), LENGTH, PROMPTS):
                if name is not None:
                    _fetch_if_there(named, name, required=name == pooling_file(folder))
        wanted = (MODULES, pooling_file(folder), LENGTH, PROMPTS)
        return [name for name in wanted if name is not None and (folder / name).is_file()]


def _fetch_if_there(named: tuple[str, str | None], name: str, *, required: bool) -> None:
    try:
        find_model(NAME, named[0], (name,), revision=named[1])
    except MissingModel:
        if required:
            raise


def _positions(config: dict[str, Any]) -> int:
    """Return how many tokens the network takes; RoBERTa's first positions belong to padding."""
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int) or positions <= 0:
        return MAX_TOKENS
    # their positions begin at padding_idx + 1 = 2: 514 rows hold 512 tokens
    taken = 2 if config.get("model_type") in {"roberta", "xlm-roberta", "camembert", "mpnet"} else 0
    return min(positions - taken, MAX_TOKENS)


def _how(model: Model) -> SentenceSettings:
    """Return the settings of a result as what they say of the model."""
    assert model.path is not None
    settings = dict(model.settings)
    read = read_sentence_settings(model.path, positions=int(settings["max_tokens"]))
    return dataclasses.replace(read, max_tokens=int(settings["max_tokens"]))
