"""The DVAE of ChatTTS: files that are others than the package states, and the quantiser of the model's time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.lock import open_lock

pytestmark = pytest.mark.isolated

COMMIT = "0" * 40
QUANTISE = """
import torch
from vector_quantize_pytorch import GroupedResidualFSQ

residual = GroupedResidualFSQ(dim=8, levels=[5, 5, 5, 5], num_quantizers=2, groups=2).eval().rvqs[0]
print(residual(torch.tensor([[[0.3, -0.3, 2.0, -2.0]]]))[1].tolist(), residual.scales[1].tolist())
"""


def test_files_of_the_hub_with_another_hash_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in the hub's cache that is not the one whose hash the package states is an error that names it."""
    repository = tmp_path / "hub" / "models--2Noise--ChatTTS"
    asset = repository / "snapshots" / COMMIT / "asset"
    asset.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    for name in ("DVAE.safetensors", "Vocos.safetensors"):
        (asset / name).write_bytes(b"another file")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    card = registry.card("chattts_dvae")
    assert card.weights is not None
    with pytest.raises(CodecUnusable, match=f"expected DVAE.safetensors with SHA-256 {card.weights.sha256}"):
        IsolatedCodec(card).load()


def test_the_quantiser_is_that_of_the_models_time() -> None:
    """The second quantiser codes what the first left over at a quarter of its step, after the input was bounded.

    By hand for levels of 5: tanh(z) * 2.002 bounds the input to 0.583, -0.583, 1.930, -1.930. Bounded and rounded once
    more that is 1, -1, 2, -2, index 3 + 5 * 1 + 25 * 4 + 125 * 0 = 108, and stands for 0.5, -0.5, 1, -1. Left over are
    0.083, -0.083, 0.930, -0.930, at a quarter of the step 0.333, -0.333, 3.720, -3.720, again 1, -1, 2, -2. Later
    versions of the package do not bound the input first, and divide by five.
    """
    python = ensure_built(open_lock("chattts")).python
    found = subprocess.run([python, "-I", "-c", QUANTISE], check=True, capture_output=True, text=True)
    assert found.stdout.split("\n")[0] == "[[[108, 108]]] [0.25, 0.25, 0.25, 0.25]"
