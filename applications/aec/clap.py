"""Backend ``clap``: zero-shot classification with the dataset's classes as sentences, by transformers.

Unless another unfused checkpoint of ``ClapModel`` is named, it is ``laion/clap-htsat-unfused`` (Apache-2.0). A class is
asked for as the later challenge of the benchmark does, ``this is the sound of `` and its name. The published weights
have not been run in this project: the code is tested on checkpoints with seeded random weights, and its input against
that of transformers.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.clap_input import RATE, ClapInput
from codec_superb.applications.aec.torch_classifier import TorchClassifier
from codec_superb.applications.errors import MissingLabels, MissingModel
from codec_superb.applications.interface import Item, Model, Samples, Setting
from codec_superb.applications.transformers_checkpoint import PREPROCESSOR, find_checkpoint, load_network, read_json

if TYPE_CHECKING:
    import torch

REPOSITORY = "laion/clap-htsat-unfused"
TOKENISER = "tokenizer.json"
PROMPT = "this is the sound of "
CLASSES = "classes"
"""The setting that holds the dataset's classes, as a JSON list."""


class ClapTowers(TorchClassifier):
    """The two towers of a checkpoint: windows of sound and sentences become vectors of length 1 in one space.

    ``NAME:OWNER/NAME[@REVISION]``, ``NAME:DIR`` or ``--weights DIR`` names another checkpoint.
    """

    kind: ClassVar[str]
    """Name of the backend."""
    rate: ClassVar[int] = RATE

    def prepare(self) -> Model:
        """Find or fetch configuration, preprocessor, tokeniser and weights. Raises MissingModel for a fused one."""
        found = find_checkpoint(self.kind, REPOSITORY, (PREPROCESSOR, TOKENISER), self.variant or self.weights)
        name = found.source.rpartition("/")[2] if found.source == REPOSITORY else found.source
        if found.config.get("audio_config", {}).get("enable_fusion"):
            raise MissingModel(
                f"{self.kind}:{name} fuses windows at random; name an unfused checkpoint, such as {REPOSITORY}"
            )
        wanted = _input(found.read(PREPROCESSOR))
        settings: dict[str, Setting] = {"window_s": float(wanted.seconds)}
        return Model(f"{self.kind}:{name}", found.sha256, settings, found.folder, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load network and tokeniser."""
        from tokenizers import Tokenizer

        assert model.path is not None
        self.device = device
        self._input = _input(read_json(model.path / PREPROCESSOR))
        self.window = self._input.window
        self._network = load_network("ClapModel", model.path, device, threads)
        self._tokeniser: Any = Tokenizer.from_file(str(model.path / TOKENISER))
        self._tokeniser.no_padding()
        # RoBERTa counts positions from the padding token's number on
        text = self._network.config.text_config
        self._tokeniser.enable_truncation(text.max_position_embeddings - text.pad_token_id - 1)

    def features(self, samples: Samples) -> NDArray[np.float32]:
        """Return the log-mel spectrogram of a window."""
        return self._input(samples)

    def of_sound(self, batch: torch.Tensor) -> torch.Tensor:
        """Map inputs ``(windows, …)`` on the device to vectors of length 1, ``(windows, dimensions)``."""
        vectors: torch.Tensor = self._network.get_audio_features(input_features=batch).pooler_output
        return vectors

    def of_sentences(self, sentences: Sequence[str]) -> torch.Tensor:
        """Return vectors of length 1, ``(sentences, dimensions)``; each sentence is embedded alone, without padding."""
        import torch

        rows = []
        with torch.inference_mode():
            for sentence in sentences:
                tokens = torch.tensor([self._tokeniser.encode(sentence).ids], device=self.device)
                answer = self._network.get_text_features(input_ids=tokens, attention_mask=torch.ones_like(tokens))
                rows.append(answer.pooler_output[0])
        return torch.stack(rows)

    def close(self) -> None:
        """Release the network."""
        self._network = None


class Clap(ClapTowers):
    """Cosine between a clip and the sentence of each class; a clip over 10 s is the mean over its windows."""

    kind: ClassVar[str] = "clap"

    def prepare(self) -> Model:
        """Find the checkpoint, and say how classes are asked for."""
        model = super().prepare()
        settings: dict[str, Setting] = {
            "prompt": f"{PROMPT}CLASS, '_' as a space",
            "pooling": "mean of the cosines of evenly spaced windows that cover the clip",
        }
        return dataclasses.replace(model, settings={**model.settings, **settings})

    def train(
        self,
        items: Sequence[Item],
        load: Callable[[str], Samples],  # noqa: ARG002 -- nothing is trained
        model: Model,
        device: str = "auto",  # noqa: ARG002
    ) -> Model:
        """Return the model with the dataset's own classes, sorted, in its settings: its zero-shot classes."""
        names = sorted({label for item in items for label in item.events})
        if not names:
            raise MissingLabels("clap: expected clips with sound-event labels, whose names are the classes; got none")
        return dataclasses.replace(model, settings={**model.settings, CLASSES: json.dumps(names, ensure_ascii=False)})

    def classes(self, model: Model) -> Sequence[str]:
        """Return the dataset's classes; empty before ``train`` has seen the dataset."""
        return tuple(json.loads(str(model.settings.get(CLASSES, "[]"))))

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the network and embed the sentence of each class, one by one."""
        super().load(model, device, threads)
        self._sentences = self.of_sentences([PROMPT + name.replace("_", " ") for name in self.classes(model)])

    def scores(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the cosine with the sentence of each class; both embeddings have length 1."""
        return self.of_sound(batch) @ self._sentences.T


def _input(preprocessor: dict[str, Any]) -> ClapInput:
    """Read the checkpoint's input parameters. Raises MissingModel for ones that are not computed here."""
    expected = {"sampling_rate": RATE, "truncation": "rand_trunc", "padding": "repeatpad"}
    for key, value in expected.items():
        if preprocessor.get(key, value) != value:
            raise MissingModel(
                f"{PREPROCESSOR}: expected {key} {value}, got {preprocessor[key]}; name another checkpoint"
            )
    usual = ClapInput()
    return ClapInput(
        bands=int(preprocessor.get("feature_size", usual.bands)),
        transform=int(preprocessor.get("fft_window_size", usual.transform)),
        hop=int(preprocessor.get("hop_length", usual.hop)),
        lowest=float(preprocessor.get("frequency_min", usual.lowest)),
        highest=float(preprocessor.get("frequency_max", usual.highest)),
        seconds=int(preprocessor.get("max_length_s", usual.seconds)),
    )
