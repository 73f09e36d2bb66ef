"""Names to codecs: the catalogue is data, a wrapper is imported only when one of its codecs is used."""

from __future__ import annotations

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.interface import Codec


def names() -> list[str]:
    """All names of codecs, sorted by family, then by nominal bitrate."""
    raise NotImplementedError  # the codec branch


def card(name: str) -> Card:
    """Return the card of codec ``name`` (or of ``path/to/file.py:Class``) without importing its packages.

    Raises UnknownCodec with near matches.
    """
    raise NotImplementedError


def open_codec(name: str, device: str = "cpu") -> Codec:
    """Import the wrapper of ``name`` (or ``path/to/file.py:Class``) and load it.

    Raises UnknownCodec with near matches, MissingDependency with the install command.
    """
    raise NotImplementedError
