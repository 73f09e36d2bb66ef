"""Choose the device of a codec (CPU or CUDA), and refuse unsupported ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.registry import card as card_of
from codec_superb.pipeline.errors import PipelineError

Device = Literal["auto", "cpu", "cuda"]


def chosen_device(codec: str, device: str) -> str:
    """Return ``device``; for ``auto``, ``cuda`` for a neural codec where torch finds a device, otherwise ``cpu``."""
    if device != "auto":
        return device
    card = card_of(codec)
    if card.kind != "neural" or _needs_cpu(card):
        return "cpu"
    try:
        import torch
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def refuse_device(device: str, cards: Sequence[Card]) -> None:
    """Raise PipelineError for neural codecs of the CPU on ``cuda``, before other codecs have run for hours."""
    if device == "cuda" and (refused := [card for card in cards if _needs_cpu(card)]):
        kind = "isolated codecs" if all(card.isolation for card in refused) else "these codecs"
        raise PipelineError(
            f"{', '.join(card.name for card in refused)}: {kind} run on the cpu; take --device auto, which gives the "
            "others the graphics card"
        )


def _needs_cpu(card: Card) -> bool:
    return card.cpu_only or card.isolation is not None  # locks have packages for the CPU
