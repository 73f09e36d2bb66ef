"""What a chart's horizontal axis shows: bitrate, or how many tokens a second a language model has to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import nan
from types import MappingProxyType
from typing import Literal

from codec_superb.web.rows import CodecResult

Across = Literal["", "tokens"]
TOKENS: Across = "tokens"
AXES: Mapping[Across, str] = MappingProxyType({"": "Bitrate", TOKENS: "Tokens per second"})
"""Labels of the choices."""
TITLES: Mapping[str, str] = MappingProxyType({"": "", TOKENS: "Tokens per second (logarithmic)"})
"""Titles of the axis; that of bitrate says where the numbers come from."""


def axes_with(*, tokens: bool) -> list[tuple[Across, str]]:
    """List the axes that a chart may have, with what its title says of each; ``tokens``: some of it has tokens."""
    return [(axis, f", against {words.lower()}") for axis, words in AXES.items()] if tokens else [("", "")]


def across_query(across: Across) -> list[tuple[str, str]]:
    """Return what the address of a chart says of its axis: nothing of bitrate."""
    return [("across", across)] if across else []


def figure_key(name: str, across: Across) -> str:
    """Return the key of a report's figure on another axis than bitrate, which the page's script puts together too."""
    return f"{name}-{across}" if across else name


def has_tokens(result: CodecResult) -> bool:
    """Whether a codec has a place on the axis of tokens."""
    return result.summary.tokens_per_second is not None


def placed(result: CodecResult, across: str) -> CodecResult:
    """Return a codec with its place on an axis of :data:`AXES`; one without tokens is not drawn against them."""
    if across != TOKENS:
        return result
    tokens = result.summary.tokens_per_second
    return replace(result, across=nan if tokens is None else tokens)
