"""The file of weights that DAC's authors released, in the original package's private environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.codecs.families import refuse_half_a_download

from codec_superb.base_codec import registry

pytestmark = pytest.mark.isolated


def test_another_file_than_the_released_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in the cache under the release's name must have the hash on the card."""
    card = registry.card("dac_original_44k_7.75k")
    refuse_half_a_download(card, "weights_44khz_8kbps_0.0.1.pth", tmp_path, monkeypatch)
