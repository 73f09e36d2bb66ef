"""The file of weights that DAC's authors released, in the original package's private environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec

pytestmark = pytest.mark.isolated


def test_another_file_than_the_released_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in the cache under the release's name must have the hash on the card."""
    card = registry.card("dac_original_44k_7.75k")
    cached = tmp_path / "hub" / "checkpoints" / "weights_44khz_8kbps_0.0.1.pth"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"half a download")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert card.weights is not None
    with pytest.raises(CodecUnusable, match=f"with SHA-256 {card.weights.sha256}; delete it and fetch again"):
        IsolatedCodec(card).load()
