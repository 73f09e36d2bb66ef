"""The attention that the guest of Stable Codec puts in the place of flash-attn's, held against its definition."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

from codec_superb.base_codec import isolation

FOLDER = Path(isolation.__file__).parent


@pytest.fixture(name="guest")
def _guest(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the guest as the worker does: by its path, what guests share beside it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("_guest_of_stable_codec", FOLDER / "guests" / "stable_codec.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_definition(q: Any, k: Any, v: Any, before: int, after: int) -> Any:
    """Weigh each frame's values by the softmax of its scores, scores outside the window being minus infinity."""
    frames = q.shape[1]
    outside = torch.tensor([[not -before <= j - i <= after for j in range(frames)] for i in range(frames)])
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bhij,bjhd->bihd", scores.masked_fill(outside, -torch.inf).softmax(dim=-1), v)


@pytest.mark.parametrize(
    ("frames", "window"), [(1, [63, 64]), (90, [7, 8]), (700, [63, 64]), (700, [0, 0]), (600, [-1, -1])]
)
def test_each_frame_sees_its_window_and_no_more(guest: Any, frames: int, window: list[int]) -> None:
    """Both ends of the window count, -1 is no limit, and the blocks of queries leave no seam."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, frames, 2, 8, generator=generator) for _ in "qkv")
    before, after = (frames if reach < 0 else reach for reach in window)
    attended = guest.windowed_attention(q, k, v, causal=False, window_size=window)
    assert torch.allclose(attended, by_definition(q, k, v, before, after), atol=1e-5)


def test_causal_attention_is_refused(guest: Any) -> None:
    """The codec's models look to both sides; another model is an error."""
    with pytest.raises(ValueError, match="expected attention to both sides"):
        guest.windowed_attention(*(torch.zeros(1, 3, 1, 4) for _ in "qkv"), causal=True, window_size=[1, 1])
