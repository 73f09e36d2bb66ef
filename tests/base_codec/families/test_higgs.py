"""Higgs Audio V2's tokeniser: every bitrate, and the chain of transformers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.codecs.checkpoints import opened

from codec_superb.base_codec import registry
from codec_superb.base_codec.families.higgs import HiggsAudioV2

CLIP = (0.1 * np.random.default_rng(0).standard_normal((1, 24000 + 77))).astype(np.float32)


def family_of(name: str) -> HiggsAudioV2:
    """Open codec ``name`` on the tiny model."""
    codec = opened(name, "higgs_audio_v2")
    assert isinstance(codec, HiggsAudioV2)
    return codec


@pytest.mark.sample(1)
@pytest.mark.parametrize(("kbps", "codebooks"), [("0.5k", 2), ("1k", 4), ("1.5k", 6), ("2k", 8)])
def test_each_bitrate_has_its_codebooks(kbps: str, codebooks: int) -> None:
    """25 frames a second of 10-bit tokens, the first codebooks of the largest bitrate's."""
    encoded = family_of(f"higgs_audio_v2_{kbps}").encode(CLIP, 24000)
    whole = family_of("higgs_audio_v2_2k").encode(CLIP, 24000)
    assert np.shape(encoded.payload) == (codebooks, 26)
    assert encoded.bits == 10 * 26 * codebooks
    assert np.array_equal(encoded.payload, np.asarray(whole.payload)[:codebooks])


def test_tokens_and_sound_are_those_of_transformers() -> None:
    """Filled up to whole frames, a clip has the tokens and the sound of transformers' own forward pass."""
    codec = family_of("higgs_audio_v2_2k")
    encoded = codec.encode(CLIP, 24000)
    with torch.inference_mode():
        out = codec.model(torch.from_numpy(np.pad(CLIP, ((0, 0), (0, 960 - 77))))[None])
    assert np.array_equal(encoded.payload, out.audio_codes[0].numpy())
    np.testing.assert_allclose(codec.decode(encoded), out.audio_values[0, :, : CLIP.shape[1]].numpy(), atol=1e-4)


def test_its_card_asks_for_torchaudio() -> None:
    """The requirements of the card, which a missing package's message shows, name it."""
    assert "torchaudio>=2.6" in registry.card("higgs_audio_v2_2k").requirements
