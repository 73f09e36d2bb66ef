"""A small DAC of its own package with eighteen codebooks, on latents of fewer channels than the encoder ends with."""

from __future__ import annotations

from families import dac

CODEC = "dac_original_16kbps_15.50k"
FILE = "weights_44khz_16kbps_1.0.0.pth"


def make(folder):  # noqa: ANN001, ANN201
    """Write the one checkpoint, as the package saves weights."""
    dac.make(folder, FILE, latent_dim=32, n_codebooks=18)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens, and the sound of its own forward pass."""
    return dac.run(folder, audio, FILE, 18)
