"""A small DAC of its own package."""

from __future__ import annotations

CODEC = "dac_original_44k_3.45k"
FILE = "weights_44khz_8kbps_0.0.1.pth"


def make(folder):  # noqa: ANN001, ANN201
    """Write the one checkpoint, as the package saves weights."""
    from dac.model import DAC

    DAC(encoder_dim=8, decoder_dim=64).save(folder / "weights_44khz_8kbps_0.0.1.pth", package=False)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens of four codebooks, and the sound of its own forward pass."""
    from dac.model import DAC

    model = DAC.load(folder / "weights_44khz_8kbps_0.0.1.pth").eval()
    result = model(audio[None], model.sample_rate, n_quantizers=4)
    return result["codes"][0], result["audio"][0]
