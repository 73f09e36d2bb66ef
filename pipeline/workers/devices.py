"""Choose the device of a codec (CPU or CUDA), and refuse unsupported ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.isolation.cuda import refuse_cuda
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.registry import card as card_of
from codec_superb.pipeline.errors import PipelineError

Device = Literal["auto", "cpu", "cuda"]


def chosen_device(codec: str, device: str) -> str:
    """Return ``device``; for ``auto``, ``cuda`` for a neural codec where torch finds a device, otherwise ``cpu``.

    An isolated codec has a torch of its own, which may have to be installed first: NVIDIA's driver is asked instead.
    """
    if device != "auto":
        return device
    card = card_of(codec)
    if card.kind != "neural" or card.cpu_only:
        return "cpu"
    if card.isolation is not None:
        return "cpu" if _refusal(card) else "cuda"
    try:
        import torch
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def trained_on(device: str) -> str:
    """Return where small models are trained: ``device``; for ``auto``, ``cuda`` where torch finds a device.

    Raises PipelineError for ``cuda`` without one.
    """
    if device == "cpu":
        return device
    import torch

    found = torch.cuda.is_available()
    if device == "cuda" and not found:
        raise PipelineError("--device cuda: expected a graphics card that torch can use, got none; take --device cpu")
    return "cuda" if found else "cpu"


def refuse_device(device: str, cards: Sequence[Card]) -> None:
    """Raise PipelineError for codecs that cannot run on ``cuda``, before other codecs have run for hours."""
    if device == "cuda" and (refused := [told for card in cards if (told := _refusal(card))]):
        raise PipelineError(refused[0])


def _refusal(card: Card) -> str | None:
    """Return why a codec cannot run on ``cuda``, None where it can or is classical."""
    if card.cpu_only:
        return f"{card.name} runs on the cpu; take --device auto, which gives the others the graphics card"
    if card.isolation is None:
        return None
    try:
        refuse_cuda(open_lock(card.isolation.lock, "cuda"))
    except RefusedSetting as refused:
        return str(refused)
    return None
