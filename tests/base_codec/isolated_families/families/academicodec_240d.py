"""HiFi-Codec with frames of 240 samples, at its full size."""

from __future__ import annotations

from families import academicodec

CODEC = "academicodec_hifi_24k_240d"
FILE = "HiFi-Codec-24k-240d"
CONFIG = {**academicodec.CONFIG, "upsample_rates": [8, 5, 3, 2], "upsample_kernel_sizes": [16, 11, 7, 4]}


def make(folder):  # noqa: ANN001, ANN201
    """Write the one checkpoint, and the config that the repository keeps in a folder of its own."""
    academicodec.make(folder, CONFIG, FILE)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return tokens and sound of the repository's class, for a clip that fills its last frame."""
    return academicodec.run(folder, audio, FILE, 240)
