"""The original package in its environment and transformers in this one: the same weights give the same tokens."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Weights
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import ensure
from codec_superb.base_codec.isolation.lock import open_lock

pytestmark = pytest.mark.isolated

SCRIPT = Path(__file__).with_name("checkpoints.py")
NAMES = (
    (r"^(encoder|decoder)\.model\.", r"\1.layers."),
    (r"\.(conv|convtr)\.\1\.", ".conv."),
    (r"\.weight_g$", ".parametrizations.weight.original0"),
    (r"\.weight_v$", ".parametrizations.weight.original1"),
    (r"^quantizer\.vq\.", "quantizer."),
    (r"\._codebook\.", ".codebook."),
)
"""How transformers renames what the package calls its parameters."""


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    """Return the package's parameters under the names of transformers."""
    result = {}
    for name, value in state.items():
        key = name
        for pattern, replacement in NAMES:
            key = re.sub(pattern, replacement, key)
        result[key] = value
    return result


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("kbps", ["1.5", "6", "24"])
def test_encodec_and_transformers_give_the_same_tokens(tmp_path: Path, kbps: str) -> None:
    """EnCodec 24 kHz: every token equal, the sound within 1e-4."""
    import torch
    from transformers import EncodecConfig, EncodecModel

    card = registry.card(f"encodec_original_24k_{kbps}k")
    assert card.isolation is not None
    python = ensure(open_lock(card.isolation.lock)).python
    subprocess.run([python, "-I", SCRIPT, "make", "encodec", tmp_path], check=True)
    settings = {"weights": str(tmp_path)}
    codec = IsolatedCodec(card.model_copy(update={"settings": settings, "weights": Weights(source="random")})).load()
    clip = (0.1 * np.random.default_rng(3).standard_normal((1, 24000))).astype(np.float32)
    encoded = codec.encode(clip, 24000)
    sound = codec.decode(encoded)
    codec.close()

    model: Any = EncodecModel(EncodecConfig())  # its hints promise tensors where it takes and gives others
    model.eval()
    model.load_state_dict(renamed(torch.load(tmp_path / "encodec_24khz-d7cc33bc.th")), strict=True)
    with torch.inference_mode():
        tokens = model.encode(torch.from_numpy(clip)[None], bandwidth=float(kbps)).audio_codes
        other = model.decode(tokens, [None])[0]
    assert len(np.unique(encoded.payload)) > 30  # the model listens
    assert np.array_equal(tokens[0, 0].numpy(), encoded.payload)
    assert np.abs(other[0, 0, :24000].numpy() - sound[0]).max() < 1e-4
