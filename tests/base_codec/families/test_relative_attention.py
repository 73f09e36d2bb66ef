"""Attention in blocks of queries is that of transformers, whatever the length and the precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from codec_superb.base_codec.families.relative_attention import QUERIES, use_blockwise_attention
from codec_superb.base_codec.torchaudio_import import mend_torchaudio


def encoder(**changes: Any) -> Any:
    """Return a tiny Wav2Vec2-BERT with seeded random weights, its distances among them."""
    mend_torchaudio()
    from transformers import Wav2Vec2BertConfig, Wav2Vec2BertModel

    torch.manual_seed(0)
    config = Wav2Vec2BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, output_hidden_size=32,
        conv_depthwise_kernel_size=7, **changes,
    )  # fmt: skip
    model: Any = Wav2Vec2BertModel(config)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:  # transformers draws them too small for attention to choose between frames
            torch.nn.init.normal_(parameter, std=2.0 if name.endswith("distance_embedding.weight") else 0.3)
    return model.eval()


def heard(model: Any, frames: int, dtype: torch.dtype = torch.float32, **others: Any) -> torch.Tensor:
    """Return what the encoder makes of two clips of noise, ``(2, frames, 32)``."""
    torch.manual_seed(1)
    with torch.inference_mode():
        out: torch.Tensor = model.to(dtype)(torch.randn(2, frames, 160).to(dtype), **others).last_hidden_state
    return out.float()


@pytest.mark.sample(2)
@pytest.mark.parametrize("frames", [1, 70, QUERIES, QUERIES + 1, 2 * QUERIES + 130])
def test_blocks_give_what_one_go_gives(frames: int) -> None:
    """One frame, less than the farthest distance, one block and several: the same hidden states within 1e-5."""
    model = encoder()
    expected = heard(model, frames)
    use_blockwise_attention(model)
    torch.testing.assert_close(heard(model, frames), expected, atol=1e-5, rtol=1e-5)


def test_places_are_heard() -> None:
    """Other distance embeddings give other hidden states: the biases of the blocks are not lost."""
    model = encoder()
    use_blockwise_attention(model)
    before = heard(model, 100)
    for layer in model.encoder.layers:
        torch.nn.init.zeros_(layer.self_attn.attention.distance_embedding.weight)
    assert (heard(model, 100) - before).abs().max() > 0.01


def test_half_precision_is_near() -> None:
    """In bfloat16 the blocks differ from one go by no more than bfloat16 itself does."""
    model = encoder()
    exact = heard(model, 700)
    expected = heard(model, 700, torch.bfloat16)
    use_blockwise_attention(model)
    got = heard(model, 700, torch.bfloat16)
    assert (got - exact).abs().mean() < 2 * (expected - exact).abs().mean()


def test_masks_and_other_kinds_of_positions_stay_with_transformers() -> None:
    """With a mask every bit is transformers' own, and layers with rotary positions are not touched."""
    model = encoder()
    mask = torch.ones(2, 90, dtype=torch.long)
    mask[1, 60:] = 0
    expected = heard(model, 90, attention_mask=mask)
    use_blockwise_attention(model)
    assert torch.equal(heard(model, 90, attention_mask=mask), expected)
    rotary = encoder(position_embeddings_type="rotary")
    kinds = [type(layer.self_attn) for layer in rotary.encoder.layers]
    use_blockwise_attention(rotary)
    assert [type(layer.self_attn) for layer in rotary.encoder.layers] == kinds
