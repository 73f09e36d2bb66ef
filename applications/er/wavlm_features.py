"""Computes the time averages of all layers of WavLM for a clip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Samples
from codec_superb.applications.memory import raises_out_of_memory
from codec_superb.applications.transformers_checkpoint import PREPROCESSOR, load_network, read_json

SHORTEST = 400
"""Samples at 16 kHz of one frame of WavLM's convolutions, 25 ms."""
_UNUSED = frozenset({"masked_spec_embed"})
"""Tensors that only training needs."""
_VARIANCE_FLOOR = 1e-7


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

        if samples.size < SHORTEST:
            raise PredictionFailed(f"the clip has {samples.size} samples at 16 kHz; WavLM needs {SHORTEST}")
        with torch.inference_mode(), raises_out_of_memory("WavLM"):
            clip = torch.from_numpy(np.array(samples, np.float32))[None].to(self._device)
            if self._unit_variance:
                clip = clip - clip.mean()
                clip = clip / (clip.square().mean() + _VARIANCE_FLOOR).sqrt()
            layers = self._network(clip, output_hidden_states=True).hidden_states
            pooled = np.asarray(torch.stack([layer[0].mean(dim=0) for layer in layers]).cpu().numpy())
        if not np.isfinite(pooled).all():
            raise PredictionFailed("WavLM gave numbers that are not finite")
        return pooled
