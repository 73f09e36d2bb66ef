"""L3AC at its own size, which is small."""

from __future__ import annotations

import tempfile
from pathlib import Path

CODEC = "l3ac_16k_1kbps"
FILE = "en_encoder.pt"
MODEL = "1kbps"


def make(folder):  # noqa: ANN001, ANN201
    """Write a file of parameters for each part of the model, by the package's own method."""
    import l3ac

    codec = l3ac.L3AC(l3ac.L3ACConfig(config_file=l3ac.CONFIG_DIR / f"{MODEL}.toml"))
    codec.network.save_model(model_path=folder)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound; it looks for its files in a folder of its own."""
    import l3ac

    with tempfile.TemporaryDirectory() as cache:
        (Path(cache) / f"{MODEL}.v1").symlink_to(folder)
        config = l3ac.L3ACConfig(config_file=l3ac.CONFIG_DIR / f"{MODEL}.toml", model_dir=cache)
        codec = l3ac.L3AC(config)
        codec.network.load_model(model_path=config.model_path)
    codec.network.eval()
    features, tokens = codec.encode_audio(audio)
    return tokens["indices"], codec.decode_audio(features)
