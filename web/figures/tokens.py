"""A figure of tokens against what they cost: tokens a second, bitrate, or what the entropy coder leaves of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from types import MappingProxyType

from codec_superb.web.applications import application_of
from codec_superb.web.figures.across import TITLES, TOKENS, placed
from codec_superb.web.figures.application import drawn_result
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.rate import rate_chart
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.theme import family_styles

ENTROPY = "entropy"
AXES: Mapping[str, str] = MappingProxyType({
    TOKENS: "tokens per second", "": "bitrate", ENTROPY: "entropy-coded bitrate",
})  # fmt: skip
"""What the horizontal axis may be, and its words."""
_ENTROPY_TITLE = "Entropy-coded bitrate (kbps, logarithmic)"


def tokens_chart(
    figure: str, across: str, codecs: Sequence[tuple[CodecResult, ApplicationRow]], entropy: Mapping[str, float]
) -> Figure:
    """Draw one figure of all codecs that have it; ``entropy`` has the entropy-coded kbps by codec.

    A codec without a place on the axis is not drawn: it gives bytes, or its rate was not probed.
    """
    quantity = application_of(figure).quantity
    styles = family_styles(result.family for result, _ in codecs)
    drawn = [_placed(drawn_result(row, result), across, entropy) for result, row in codecs]
    return rate_chart(
        drawn, quantity, styles, linked=True, across=_ENTROPY_TITLE if across == ENTROPY else TITLES[across]
    )


def _placed(result: CodecResult, across: str, entropy: Mapping[str, float]) -> CodecResult:
    if across == ENTROPY:
        return replace(result, across=entropy.get(result.codec, nan))
    return placed(result, across)
