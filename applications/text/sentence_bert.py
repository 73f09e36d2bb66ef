"""BERT checkpoints of sentence-transformers, and FENSE's detector of errors, in numpy, a text at a time.

Files lie in a folder of the repository's name below ``models`` of the program's home, or come from the hub; those of a
detector's release come from its address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.model_files import find_model, sha256_of
from codec_superb.applications.packages import require_packages
from codec_superb.applications.text.bert import Bert
from codec_superb.applications.text.safetensors_file import Tensors, read_safetensors
from codec_superb.applications.text.tokens import check_text
from codec_superb.applications.transformers_checkpoint import CONFIG, WEIGHTS, read_json
from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.data_manifests.packages.fetch_all import fetch_all
from codec_superb.data_manifests.packages.index_client import WebFile
from codec_superb.data_manifests.progress import ignore_progress

TOKENISER, LENGTHS = "tokenizer.json", "sentence_bert_config.json"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BertFiles:
    """A BERT on this machine."""

    folder: Path
    weights: str
    """Name of the file of weights; '' where others bring them."""

    @property
    def sha256(self) -> str:
        """Hash over names and hashes of its files."""
        return sha256_of(self.folder / name for name in (CONFIG, TOKENISER, self.weights) if name)


def find_bert(label: str, repository: str, *, weights: bool = True) -> BertFiles:
    """Return the files of a BERT. Raises MissingModel with what to fetch and where to put it, MissingPackage."""
    require_packages(label, "probes", "tokenizers")
    own = _home() / repository.rpartition("/")[2]
    names = WEIGHTS if weights else ("",)
    for name in names:
        try:
            files = [of for of in (CONFIG, TOKENISER, name) if of]
            found = find_model(label, repository, files, given=own if own.is_dir() else None, extra="probes")
        except MissingModel as error:
            if name == names[-1]:
                raise MissingModel(
                    f"{str(error).partition('; ')[0]}; where there is internet: `hf download {repository} "
                    f"{' '.join(of for of in (CONFIG, TOKENISER, LENGTHS, names[0]) if of)} --local-dir {own}`"
                ) from error
        else:
            return BertFiles(found.folder, name)
    raise AssertionError("there is a name of weights")


class TruncatedTokens:
    """A tokeniser that cuts a long text off and keeps what stands behind it, as transformers does."""

    def __init__(self, file: Path, most: int) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Any = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises bare exceptions
            raise MissingModel(f"{file.name} cannot be read as a tokeniser: {error}; fetch it again") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(most)

    def __call__(self, text: str) -> list[int]:
        """Return the tokens of a text with those at its ends. Raises PredictionFailed for no Unicode."""
        check_text(text)
        found: list[int] = self._tokenizer.encode(text).ids
        return found


class SentenceBert:
    """Unit vectors of texts: the mean of the last layer, as sentence-transformers pools by default."""

    def __init__(self, files: BertFiles) -> None:
        config = read_json(files.folder / CONFIG)
        lengths = files.folder / LENGTHS
        said = read_json(lengths) if lengths.is_file() else {}
        most = int(said.get("max_seq_length") or config["max_position_embeddings"])
        self._tokens = TruncatedTokens(files.folder / TOKENISER, most)
        self._network = Bert(_read(files.folder / files.weights), config)

    def vector(self, text: str) -> Floats:
        """Return the unit vector of a text, ``(dimensions,)``."""
        return _unit(self._network(self.pieces(text)))

    def pieces(self, text: str) -> list[int]:
        """Return the tokens of a text with those at its ends."""
        return self._tokens(text)

    def embedded(self, tokens: Sequence[int]) -> Floats:
        """Return the embeddings of word pieces before the network, without those at the ends, ``(pieces, n)``."""
        return self._network.embedded(tokens[1:-1]).astype(np.float64)

    def weighed(self, tokens: Sequence[int], weights: Floats) -> Floats:
        """Return the unit vector of a text whose pieces' embeddings are multiplied by ``weights``."""
        return _unit(self._network(tokens, weights.astype(np.float32)))


class ErrorDetector:
    """FENSE's detector: a BERT whose first token a linear layer classifies; the last class is an error of any kind.

    ``file`` is a checkpoint of the release: ``state_dict`` with ``encoder.`` and ``clf.``, ``model_type``,
    ``num_classes``. Raises MissingModel for another one, MissingPackage without torch.
    """

    def __init__(self, file: Path, base: BertFiles, most: int) -> None:
        state = _torch_file(file)
        try:
            tensors = {name: _array(value) for name, value in state["state_dict"].items()}
            self._weight, self._bias = tensors["clf.weight"][-1], float(tensors["clf.bias"][-1])
        except (KeyError, TypeError, AttributeError) as error:
            raise MissingModel(f"{file.name}: expected a detector of FENSE's release: it has no {error}") from error
        inner = {name.removeprefix("encoder."): value for name, value in tensors.items() if name.startswith("encoder.")}
        self._network = Bert(inner, read_json(base.folder / CONFIG))
        self._tokens = TruncatedTokens(base.folder / TOKENISER, most)

    def probability(self, text: str) -> float:
        """Return the probability of an error, 0 to 1."""
        first = self._network(self._tokens(text))[0]
        return float(1.0 / (1.0 + np.exp(-(first @ self._weight + self._bias))))


def fetched(label: str, name: str, url: str, sha256: str, size: int) -> Path:
    """Return a file of a release, as it lies below ``models`` of the home, or fetched there. Raises MissingModel."""
    place = _home()
    if (place / name).is_file():
        return place / name
    try:
        return fetch_all({name: WebFile(url, name, sha256, size, (url,), "")}, place, ignore_progress)[name]
    except FetchError as error:
        raise MissingModel(f"{label}: {error}; fetch {url} by hand into {place}") from error


def _home() -> Path:
    return codec_superb_home() / "models"


def _read(file: Path) -> Tensors:
    if file.suffix == ".safetensors":
        return read_safetensors(file)
    return {name: _array(value) for name, value in _torch_file(file).items()}


def _torch_file(file: Path) -> Mapping[str, Any]:
    require_packages(file.name, "applications", "torch")
    import torch

    try:
        # a pickle may call anything; with weights_only it may make tensors and plain containers alone
        found: Mapping[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises what its unpickler does
        why = str(error).splitlines()[0]
        raise MissingModel(f"{file.name} cannot be read as weights: {why}; fetch it again") from error
    return found


def _array(value: Any) -> NDArray[np.float32]:
    found: NDArray[np.float32] = value.detach().float().numpy()
    return found


def _unit(frames: NDArray[np.float32]) -> Floats:
    mean = frames.mean(axis=0).astype(np.float64)
    found: Floats = mean / np.linalg.norm(mean)
    return found
