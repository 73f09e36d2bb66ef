"""A small AudioDec at 48 kHz, under the names of the authors' pair for VCTK."""

from __future__ import annotations

from families import audiodec

CODEC = "audiodec_48k_300d"
FILE = "vocoder/AudioDec_v1_symAD_vctk_48000_hop300_clean/checkpoint-500000steps.pkl"
LOOKS_AT_ONSET = True
AUTOENCODER = "autoencoder/symAD_vctk_48000_hop300/checkpoint-200000steps.pkl"


def make(folder):  # noqa: ANN001, ANN201
    """Write both models."""
    audiodec.make(folder, 48000, AUTOENCODER, FILE)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return tokens and sound as the repository's demo for files makes them."""
    return audiodec.run(folder, audio, AUTOENCODER, FILE)
