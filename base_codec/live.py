"""Codecs that live in this process alone, such as a model in training: they go by a name while they are registered.

Such a name stands wherever a codec's name does, but only work in this process finds what is behind it: nothing is
pickled. The object stays its owner's: it is neither loaded nor closed here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from codec_superb.base_codec.errors import UnknownCodec

if TYPE_CHECKING:
    from codec_superb.base_codec.interface import Codec

PREFIX = "live:"
_NUMBERS = itertools.count(1)


class Live(NamedTuple):
    """A registered codec."""

    codec: Codec
    identity: bytes
    """What its rows rest on beside its card: those of another identity are not its own."""


_REGISTERED: dict[str, Live] = {}


@contextmanager
def registered(codec: Codec, identity: bytes) -> Iterator[str]:
    """Register a codec until the block ends; gives its name, which no other codec ever has."""
    name = f"{PREFIX}{next(_NUMBERS)}:{codec.card.name}"
    _REGISTERED[name] = Live(codec, identity)
    try:
        yield name
    finally:
        del _REGISTERED[name]


def is_live(name: str) -> bool:
    """Whether ``name`` is one of a codec that lives in a process."""
    return name.startswith(PREFIX)


def live(name: str) -> Live:
    """Return what is registered as ``name``. Raises UnknownCodec where it is not, as in any other process."""
    if name not in _REGISTERED:
        raise UnknownCodec(f"{name.rpartition(':')[2]} lives in one process alone and cannot be opened in another")
    return _REGISTERED[name]
