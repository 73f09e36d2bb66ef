"""Isolated families on small models of random weights, in their real private environments."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Weights
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import ensure
from codec_superb.base_codec.isolation.lock import open_lock

SCRIPT = Path(__file__).parent / "base_codec" / "isolated_families" / "run_family.py"


def make_model(family: str, lock: str, folder: Path) -> Path:
    """Write the model of ``families/<family>.py`` into ``folder``; return the interpreter of its environment."""
    python = ensure(open_lock(lock)).python
    subprocess.run([python, "-I", SCRIPT, "make", family, folder], check=True)
    return python


def random_codec(name: str, folder: Path, **changes: Any) -> IsolatedCodec:
    """Return the codec of the catalogue, not loaded, with the weights of ``folder``, which nobody trained."""
    card = registry.card(name).model_copy(update={"weights": Weights(source="random"), **changes})
    return IsolatedCodec(card, folder)
