"""Anti-aliased activations of X-Codec 2, computed a few channels at a time to limit memory on long clips.

Each activation upsamples all channels by 2, applies SnakeBeta and downsamples again: for a minute of sound half a dozen
arrays of 369 MB exist at once. Channels are independent, so blocks of channels give bit-identical results.
"""

from __future__ import annotations

from typing import Any

import torch

CHANNELS = 8
"""Channels computed at once."""
KIND = "AntiAliasedActivation1d"
"""Suffix of the class names in transformers."""


class ChannelBlocks(torch.nn.Module):
    """Replaces an ``AntiAliasedActivation1d`` over a ``SnakeBeta``."""

    def __init__(self, activation: Any) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, audio: torch.Tensor) -> torch.Tensor:
        """Apply the activation to ``(clips, channels, samples)``."""
        own, bent = self.activation, torch.empty_like(audio)
        for start in range(0, audio.shape[1], CHANNELS):
            block = slice(start, start + CHANNELS)
            its = {name: value[block] for name, value in own.act.named_parameters()}
            curved = torch.func.functional_call(own.act, its, (own.upsample(audio[:, block]),))
            bent[:, block] = own.downsample(curved)
        return bent


def use_blockwise_activations(encoder: torch.nn.Module) -> None:
    """Replace each anti-aliased activation of ``encoder`` by one that works on blocks of channels."""
    for module in list(encoder.modules()):
        for name, child in list(module.named_children()):
            if type(child).__name__.endswith(KIND):
                setattr(module, name, ChannelBlocks(child))
