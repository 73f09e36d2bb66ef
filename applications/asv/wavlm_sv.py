"""Backend ``wavlm-sv``: WavLM with an x-vector head, by transformers.

``microsoft/wavlm-base-plus-sv`` unless another checkpoint of ``WavLMForXVector`` is named. The speaker model of
Seed-TTS-Eval and of evaluations after it is another, with figures that are not comparable: ``wavlm-large-sv``. The
published weights have not been run in this project: the code is tested on checkpoints with seeded random weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from codec_superb.applications.asv.torch_embedder import TorchEmbedder
from codec_superb.applications.interface import Model
from codec_superb.applications.transformers_checkpoint import PREPROCESSOR, find_checkpoint, load_network

if TYPE_CHECKING:
    import torch

REPOSITORY = "microsoft/wavlm-base-plus-sv"
_UNUSED = frozenset({"wavlm.masked_spec_embed"})
"""Tensors that only training needs."""


class WavLMSV(TorchEmbedder):
    """Embeds a clip with WavLM and an x-vector head, 512 numbers with the usual weights.

    ``wavlm-sv:OWNER/NAME[@REVISION]``, ``wavlm-sv:DIR`` or ``--weights DIR`` names another checkpoint.
    """

    shortest: ClassVar[int] = 15 * 320 + 400
    """16 frames: the layers of the head see 15 at once, and a deviation needs two numbers."""

    def prepare(self) -> Model:
        """Find or fetch configuration, preprocessor and weights."""
        found = find_checkpoint("wavlm-sv", REPOSITORY, (PREPROCESSOR,), self.variant or self.weights)
        name = "wavlm-base-plus-sv" if found.source == REPOSITORY else found.source
        settings = {"unit_variance": bool(found.read(PREPROCESSOR).get("do_normalize", True))}
        return Model(f"wavlm-sv:{name}", found.sha256, settings, found.folder, random=found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the network. Raises MissingModel for a checkpoint without the head."""
        assert model.path is not None
        self._network = load_network("WavLMForXVector", model.path, device, threads, unused=_UNUSED)
        for parameter in self._network.parameters():  # mapped tensors lie unaligned, which changes rounding
            parameter.data = parameter.data.clone()
        self._unit_variance = bool(model.settings["unit_variance"])
        self.start(device, threads)

    def embed(self, clips: torch.Tensor) -> torch.Tensor:
        """Map clips of one length to embeddings, each clip scaled to mean 0 and variance 1 if configured so."""
        if self._unit_variance:
            from codec_superb.applications.torch_setup import unit_variance

            clips = unit_variance(clips)
        embedded: torch.Tensor = self._network(clips).embeddings
        return embedded

    def close(self) -> None:
        """Release the network."""
        del self._network
