"""Codebooks whose tokens depend on the sound."""

from __future__ import annotations

import torch


def draw_codebooks(codebooks, encoder):  # noqa: ANN001, ANN201
    """Fill codebooks around what an encoder makes of noise, so that tokens depend on the sound."""
    with torch.inference_mode():
        draw_residual(codebooks, encoder(0.1 * torch.randn(1, 1, 48000))[0].T.clone())


def draw_residual(codebooks, latents):  # noqa: ANN001, ANN201
    """Fill residual codebooks around latents ``(frames, dimensions)``: the first about their mean, others about 0."""
    centre, spread = latents.mean(dim=0), latents.std(dim=0)
    with torch.inference_mode():
        for level, codebook in enumerate(codebooks):
            codebook.copy_((centre if level == 0 else 0) + spread * 0.8**level * torch.randn_like(codebook))
