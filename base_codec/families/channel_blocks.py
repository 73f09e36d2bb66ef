"""Anti-aliased activations for long clips: X-Codec 2's, computed a few channels at a time.

Each doubles the rate of all its channels, bends them and halves the rate again: for a minute of sound half a dozen
arrays of 369 MB live at once. No channel needs another, so that blocks of channels give the same bits.
"""

from __future__ import annotations

from typing import Any

import torch

CHANNELS = 8
"""Channels at once."""
KIND = "AntiAliasedActivation1d"
"""How the names of transformers' classes end."""


class ChannelBlocks(torch.nn.Module):
    """Takes the place of an ``AntiAliasedActivation1d`` over a ``SnakeBeta``."""

    def __init__(self, activation: Any) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, audio: torch.Tensor) -> torch.Tensor:
        """Bend ``(clips, channels, samples)``."""
        own, bent = self.activation, torch.empty_like(audio)
        for start in range(0, audio.shape[1], CHANNELS):
            block = slice(start, start + CHANNELS)
            its = {name: value[block] for name, value in own.act.named_parameters()}
            curved = torch.func.functional_call(own.act, its, (own.upsample(audio[:, block]),))
            bent[:, block] = own.downsample(curved)
        return bent


def use_blockwise_activations(encoder: torch.nn.Module) -> None:
    """Have each anti-aliased activation of ``encoder`` work on blocks of channels."""
    for module in list(encoder.modules()):
        for name, child in list(module.named_children()):
            if type(child).__name__.endswith(KIND):
                setattr(module, name, ChannelBlocks(child))
