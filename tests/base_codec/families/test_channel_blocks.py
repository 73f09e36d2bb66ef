"""Activations in blocks of channels are those of transformers."""

from __future__ import annotations

import copy

import pytest
import torch
from support.codecs.checkpoints import xcodec2

from codec_superb.base_codec.families.channel_blocks import CHANNELS, ChannelBlocks, use_blockwise_activations
from codec_superb.base_codec.torchaudio_import import mend_torchaudio


@pytest.mark.parametrize("name", ["Xcodec2", "NeuCodec"])
def test_blocks_of_channels_give_the_same_bits(name: str) -> None:
    """An encoder of widths less and more than a block, and no multiple of it, has the same output bit for bit."""
    mend_torchaudio()
    torch.manual_seed(0)
    whole = xcodec2(name, encoder_hidden_size=3).eval().acoustic_encoder
    for parameter in whole.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    blocks = copy.deepcopy(whole)
    use_blockwise_activations(blocks)
    replaced = [module for module in blocks.modules() if isinstance(module, ChannelBlocks)]
    widths = {module.activation.act.alpha.numel() for module in replaced}
    assert len(replaced) == 36
    assert min(widths) < CHANNELS < max(widths)
    assert any(width > CHANNELS and width % CHANNELS for width in widths)
    audio = 0.3 * torch.randn(2, 1, 3200)
    with torch.inference_mode():
        assert torch.equal(blocks(audio), whole(audio))
