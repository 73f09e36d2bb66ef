"""Orders that a seed decides, the same on every machine and under every version of Python."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

_Any = TypeVar("_Any")


def shuffled(items: Sequence[_Any], bits: bytes) -> list[_Any]:
    """Permute ``items``: their places are sorted by a SHA-256 of ``bits`` and the place, which is unbiased."""
    # Not random.shuffle: its result for a seed may change with the version of Python.
    places = sorted(range(len(items)), key=lambda place: sha256(bits + place.to_bytes(4, "big")).digest())
    return [items[place] for place in places]
