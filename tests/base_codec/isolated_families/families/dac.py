"""A small DAC of its own package."""

from __future__ import annotations

CODEC = "dac_original_44k_3.45k"
FILE = "weights_44khz_8kbps_0.0.1.pth"


def make(folder, file=FILE, **sizes):  # noqa: ANN001, ANN003, ANN201
    """Write the one checkpoint, as the package saves weights."""
    from dac.model import DAC

    DAC(encoder_dim=8, decoder_dim=64, **sizes).save(folder / file, package=False)


def run(folder, audio, file=FILE, codebooks=4):  # noqa: ANN001, ANN201
    """Return the package's own tokens of some codebooks, and the sound of its own forward pass."""
    from dac.model import DAC

    model = DAC.load(folder / file).eval()
    result = model(audio[None], model.sample_rate, n_quantizers=codebooks)
    return result["codes"][0], result["audio"][0]
