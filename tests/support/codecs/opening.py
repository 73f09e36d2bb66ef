"""Open codecs of the catalogue for tests, once; a test of one whose system library is missing is skipped by name."""

from __future__ import annotations

import functools

import pytest

from codec_superb.base_codec import registry, system
from codec_superb.base_codec.interface import Codec


@functools.cache
def _opened(name: str) -> Codec:
    return registry.open_codec(name)


def opened(name: str) -> Codec:
    """Open a codec once for all tests: it keeps nothing between clips."""
    if sentence := system.missing(registry.card(name)):
        pytest.skip(sentence)
    return _opened(name)
