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
    if card.kind != "neural" or card.isolation is not None:  # locks have packages for the CPU
        return "cpu"
    try:
        import torch
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def refuse_device(device: str, cards: Sequence[Card]) -> None:
    """Raise PipelineError for isolated codecs on ``cuda``, before other codecs have run for hours."""
    if device == "cuda" and (isolated := [card.name for card in cards if card.isolation is not None]):
        raise PipelineError(
            f"{', '.join(isolated)}: isolated codecs run on the cpu; take --device auto, which gives the others the "
            "graphics card"
        )
