"""Backend ``wavlm-emotion``: WavLM-Large, weighted sum of layers, mean over time, one linear layer; the paper's.

No emotion model is fetched: the classifier on top of WavLM is trained here, on the references of the dataset, by folds
in which whole sessions (or speakers) are held out, and each clip is classified by the head that has not seen it. That
is done once for a dataset, not for each codec: a classifier of clean speech judges the codec. Classes are the four of
IEMOCAP in the usual protocol: anger, happiness (with excitement), neutral, sadness.

Neither the weights of ``microsoft/wavlm-large`` nor labelled emotional speech have been run in this project: the code
is tested end to end on a tiny random WavLM and a small synthetic set.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.er.emotions import IEMOCAP_CLASSES
from codec_superb.applications.er.folds import SEED
from codec_superb.applications.er.head import EPOCHS, LEARNING_RATE, WEIGHT_DECAY
from codec_superb.applications.er.head_store import FILE, folder_of, load_heads
from codec_superb.applications.er.training import is_trained, plan_training, train_heads
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend, Item, Model, Prediction, Samples, Setting, Sound
from codec_superb.applications.memory import raises_out_of_memory
from codec_superb.applications.transformers_checkpoint import PREPROCESSOR, find_checkpoint, load_network, read_json

REPOSITORY = "microsoft/wavlm-large"
HEADS = "heads"
"""The setting that names the trained heads."""


SHORTEST = 400
"""Samples at 16 kHz of one frame of WavLM's convolutions, 25 ms."""
_UNUSED = frozenset({"masked_spec_embed"})
"""Tensors that only training needs."""


class WavLMFeatures:
    """A loaded WavLM; one clip at a time, so that no number depends on others."""

    def __init__(self, folder: Path, device: str, threads: int) -> None:
        self._network = load_network("WavLMModel", folder, device, threads, unused=_UNUSED)
        self._unit_variance = bool(read_json(folder / PREPROCESSOR).get("do_normalize", True))
        self._device = device

    def pooled(self, samples: Samples) -> NDArray[np.float32]:
        """Return the mean over time of each layer, shape ``(layers + 1, dimensions)``: the input of the first included.

        Raises PredictionFailed for a clip that is too short or gives numbers that are not finite, OutOfMemory.
        """
        import torch

        from codec_superb.applications.torch_setup import unit_variance

        if samples.size < SHORTEST:
            raise PredictionFailed(f"the clip has {samples.size} samples at 16 kHz; WavLM needs {SHORTEST}")
        with torch.inference_mode(), raises_out_of_memory("WavLM"):
            clip = torch.from_numpy(np.array(samples, np.float32))[None].to(self._device)
            if self._unit_variance:
                clip = unit_variance(clip)
            layers = self._network(clip, output_hidden_states=True).hidden_states
            pooled = np.asarray(torch.stack([layer[0].mean(dim=0) for layer in layers]).cpu().numpy())
        if not np.isfinite(pooled).all():
            raise PredictionFailed("WavLM gave numbers that are not finite")
        return pooled


class WavLMEmotion(Backend):
    """Probabilities of four emotions.

    ``wavlm-emotion:OWNER/NAME[@REVISION]``, ``wavlm-emotion:DIR`` or ``--weights DIR`` names another WavLM.
    """

    rate: ClassVar[int] = 16_000

    def prepare(self) -> Model:
        """Find or fetch WavLM. Raises MissingModel; no package file carries an emotion model."""
        try:
            found = find_checkpoint("wavlm-emotion", REPOSITORY, (PREPROCESSOR,), self.variant or self.weights)
        except MissingModel as error:
            raise MissingModel(
                f"no emotion model is available offline: no package of an index carries one\n{error}"
            ) from error
        name = found.source.rpartition("/")[2] if found.source == REPOSITORY else found.source
        return Model(f"wavlm-emotion:{name}", found.sha256, {}, found.folder, found.random)

    def train(self, items: Sequence[Item], load: Callable[[str], Samples], model: Model, device: str = "auto") -> Model:
        """Train the heads of this dataset, unless they are on this machine already; ``auto`` is CUDA where it is."""
        task = plan_training(items)
        key = task.key(model.sha256)
        if not is_trained(key):
            wavlm = self._features(model, _best_device() if device == "auto" else device, os.cpu_count() or 1)
            train_heads(task, key, lambda clip: wavlm.pooled(load(clip)))
        settings: dict[str, Setting] = {
            HEADS: key,
            "folds": f"{task.folds.count} by {task.folds.by}",
            "trained_on": "references of the other folds",
            "training": f"AdamW, {EPOCHS} epochs of all clips, rate {LEARNING_RATE}, weight decay {WEIGHT_DECAY}",
            "seed": SEED,
        }
        return dataclasses.replace(model, settings={**model.settings, **settings})

    def classes(self, model: Model) -> Sequence[str]:  # noqa: ARG002 -- every model has these
        """Return the four classes."""
        return IEMOCAP_CLASSES

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load WavLM and the heads. Raises MissingModel where no heads were trained."""
        file = folder_of(str(model.settings.get(HEADS, "none"))) / FILE
        if not file.is_file():
            raise MissingModel(f"{model.name}: no trained heads in {file.parent}; call probe, which trains them")
        self._heads = load_heads(file)
        self._wavlm: WavLMFeatures | None = self._features(model, device, threads)

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return the probability of each class, float32 of shape ``(4,)``, by the head that has not seen the clip."""
        return [self._answer(sound) for sound in batch]

    def close(self) -> None:
        """Release WavLM."""
        self._wavlm = None

    def _answer(self, sound: Sound) -> Prediction | Exception:
        assert self._wavlm is not None
        head = self._heads.for_clip(sound.item.clip)
        if head is None:
            return PredictionFailed(f"no fold holds this clip out: its emotion is none of {', '.join(IEMOCAP_CLASSES)}")
        try:
            return head.probabilities(self._wavlm.pooled(sound.samples))
        except PredictionFailed as error:
            return error

    @staticmethod
    def _features(model: Model, device: str, threads: int) -> WavLMFeatures:
        assert model.path is not None
        return WavLMFeatures(model.path, device, threads)


def _best_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
