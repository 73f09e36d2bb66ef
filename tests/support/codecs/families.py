"""Isolated families on small models of random weights, in their real private environments."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.lock import open_lock

SCRIPT = Path(__file__).parents[2] / "base_codec" / "isolated_families" / "run_family.py"


def make_model(family: str, lock: str, folder: Path) -> Path:
    """Write the model of ``families/<family>.py`` into ``folder``; return the interpreter of its environment."""
    python = ensure_built(open_lock(lock)).python
    subprocess.run([python, "-I", SCRIPT, "make", family, folder], check=True)
    return python


def random_codec(name: str, folder: Path, **changes: Any) -> IsolatedCodec:
    """Return the codec of the catalogue, not loaded, with the weights of ``folder``, which nobody trained."""
    card = registry.card(name).model_copy(update={"weights": Weights(source="random"), **changes})
    return IsolatedCodec(card, folder)


def renamed(state: dict[str, Any], names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return parameters under other names: each of ``names`` is a pattern and its replacement, taken in turn."""
    return {functools.reduce(lambda key, pair: re.sub(*pair, key), names, name): value for name, value in state.items()}


def refuse_half_a_download(card: Card, file: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put another ``file`` than the published one into torch's cache, and see the codec refuse its hash."""
    cached = home / "hub" / "checkpoints" / file
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"half a download")
    monkeypatch.setenv("TORCH_HOME", str(home))
    assert card.weights is not None
    with pytest.raises(CodecUnusable, match=f"with SHA-256 {card.weights.sha256}; delete it and fetch again"):
        IsolatedCodec(card).load()
