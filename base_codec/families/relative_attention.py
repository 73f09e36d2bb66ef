"""Attention with relative positions of Wav2Vec2-BERT, computed a block of queries at a time to limit memory.

transformers expands an embedding for each pair of frames and multiplies it with the query of each head: for a minute
of sound 3000 x 3000 x 64 numbers, 2.3 GB, in each layer, plus the products and their copies. But there are only 73
different distances (64 back, 0, 8 ahead; farther ones are clamped): here each query is multiplied with the 73
embeddings, and the products are gathered by distance. The sums are the same up to rounding.
"""

from __future__ import annotations

from typing import Any

import torch

QUERIES = 512
"""Queries per block: with a minute of keys their biases take 98 MB."""


class BlockwiseAttention(torch.nn.Module):
    """Replaces a ``Wav2Vec2BertSelfAttention`` whose position embeddings are ``relative_key``."""

    def __init__(self, attention: Any) -> None:
        super().__init__()
        self.attention = attention

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None = None, **others: Any
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend from ``(clips, frames, width)`` to all frames; with a mask, call the replaced module."""
        if attention_mask is not None:
            masked: tuple[torch.Tensor, torch.Tensor | None] = self.attention(hidden_states, attention_mask, **others)
            return masked
        own = self.attention
        clips, frames, _ = hidden_states.shape
        query, key, value = (
            linear(hidden_states).view(clips, frames, -1, own.head_size).transpose(1, 2)
            for linear in (own.linear_q, own.linear_k, own.linear_v)
        )
        heard = [
            # a block of rows needs all keys but no other rows: the same sums, a part of the matrix at a time
            torch.nn.functional.scaled_dot_product_attention(
                block, key, value, attn_mask=self._bias(block, start, frames), scale=own.scaling
            )
            for start, block in zip(range(0, frames, QUERIES), query.split(QUERIES, dim=2), strict=True)
        ]
        joined = torch.cat(heard, dim=2).transpose(1, 2).reshape(clips, frames, -1)
        out: torch.Tensor = own.linear_out(joined)
        return out, None

    def _bias(self, query: torch.Tensor, start: int, frames: int) -> torch.Tensor:
        """Return the position bias ``(clips, heads, queries, frames)`` that is added to the attention scores."""
        own = self.attention
        back, ahead = own.left_max_position_embeddings, own.right_max_position_embeddings
        places = torch.arange(frames, device=query.device)
        distances = places - (start + torch.arange(query.shape[2], device=query.device))[:, None]
        # Shaw et al. 2018: distances beyond the table share its ends
        which = distances.clamp(-back, ahead) + back
        products = own.scaling * (query @ own.distance_embedding.weight.to(query.dtype).T)
        bias: torch.Tensor = products.gather(3, which.expand(*query.shape[:2], *which.shape))
        return bias


def use_blockwise_attention(encoder: Any) -> None:
    """Replace the attention of each layer of a ``Wav2Vec2BertModel``; other position embeddings are left alone."""
    for layer in encoder.encoder.layers:
        if layer.self_attn.position_embeddings_type == "relative_key":
            layer.self_attn = BlockwiseAttention(layer.self_attn)
