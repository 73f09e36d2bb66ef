"""A complete card, from which tests make those they need."""

from __future__ import annotations

from typing import Any

from codec_superb.base_codec.card import Card


def make_card(name: str = "probe", **changes: Any) -> Card:
    """Return the card of a codec that does not exist: 16-bit PCM at 16 kHz; ``changes`` replace or add fields."""
    fields: dict[str, Any] = {
        "name": name, "family": name.partition("_")[0], "title": name.title(), "version": "1", "kind": "classical",
        "standard": "none", "year": 2020, "sampling_rate": 16000, "channels": (1,), "nominal_kbps": 256.0,
        "frame_rate": 16000.0, "causal": True, "delay_samples": 0, "latency_ms": 0.0625, "licence": "MIT",
        "paper": "none", "homepage": "https://example.org",
    }  # fmt: skip
    return Card.model_validate(fields | changes)
