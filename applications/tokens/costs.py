"""What a second of tokens costs a language model: positions of its context, memory of its keys and values.

A decoder keeps a key and a value for each position, layer and head of keys: ``2 x layers x heads x width`` numbers of
two bytes (bfloat16). Flat, every token is a position; in parallel or delayed, a frame is one (Copet et al. 2023,
arXiv:2306.05284).
"""

from __future__ import annotations

from typing import NamedTuple

BYTES = 2
HOUR_S = 3600


class ModelSize(NamedTuple):
    """A published decoder, as its configuration says."""

    name: str
    layers: int
    heads: int
    """Of keys and values, which several heads of queries share (Ainslie et al. 2023, arXiv:2305.13245)."""
    width: int
    """Of a head."""
    source: str

    @property
    def bytes_per_position(self) -> int:
        """Memory of keys and values of one position."""
        return 2 * self.layers * self.heads * self.width * BYTES


SIZES: dict[str, ModelSize] = {
    of.name: of
    for of in (
        ModelSize("qwen2.5-0.5b", 24, 2, 64, "config.json of Qwen/Qwen2.5-0.5B; arXiv:2412.15115"),
        ModelSize("llama-3.2-1b", 16, 8, 64, "config.json of meta-llama/Llama-3.2-1B; arXiv:2407.21783"),
        ModelSize("qwen2.5-7b", 28, 4, 128, "config.json of Qwen/Qwen2.5-7B; arXiv:2412.15115"),
        ModelSize("llama-3.1-8b", 32, 8, 128, "config.json of meta-llama/Llama-3.1-8B; arXiv:2407.21783"),
    )
}
USUAL = "qwen2.5-0.5b"


class Cost(NamedTuple):
    """Of a codec's tokens to one model."""

    tokens_per_minute: float
    """Positions a minute, every token being one."""
    frames_per_minute: float
    """Positions a minute, a frame being one."""
    cache_mb_per_minute: float
    """Keys and values of a minute in MB (10^6 bytes), every token being a position."""
    cache_mb_per_minute_frames: float
    """The same, a frame being a position."""
    context_of_an_hour: int
    """Positions of an hour, every token being one."""
    context_of_an_hour_frames: int
    """The same, a frame being a position."""


def cost(frame_rate: float, codebooks: int, model: ModelSize = SIZES[USUAL]) -> Cost:
    """Return what ``codebooks`` tokens in each of ``frame_rate`` frames a second cost."""
    flat, minute = frame_rate * codebooks, 60.0
    megabytes = model.bytes_per_position / 1e6
    return Cost(
        flat * minute, frame_rate * minute, flat * minute * megabytes, frame_rate * minute * megabytes,
        round(flat * HOUR_S), round(frame_rate * HOUR_S),
    )  # fmt: skip
