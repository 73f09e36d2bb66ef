"""What a chart's horizontal axis shows: bitrate, or how many tokens a second a language model has to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import nan
from types import MappingProxyType

from codec_superb.web.rows import CodecResult

TOKENS = "tokens"
AXES: Mapping[str, str] = MappingProxyType({"": "Bitrate", TOKENS: "Tokens per second"})
"""Labels of the choices."""
TITLES: Mapping[str, str] = MappingProxyType({"": "", TOKENS: "Tokens per second (logarithmic)"})
"""Titles of the axis; that of bitrate says where the numbers come from."""


def has_tokens(result: CodecResult) -> bool:
    """Whether a codec has a place on the axis of tokens."""
    return result.summary.tokens_per_second is not None


def placed(result: CodecResult, across: str) -> CodecResult:
    """Return a codec with its place on an axis of :data:`AXES`; one without tokens is not drawn against them."""
    if across != TOKENS:
        return result
    tokens = result.summary.tokens_per_second
    return replace(result, across=nan if tokens is None else tokens)
