"""Converts rows of the database into the typed rows of pages and figures."""

from __future__ import annotations

from codec_superb.base_codec.card import Card
from codec_superb.server.database.models import Result
from codec_superb.server.database.results import to_summary
from codec_superb.web.rows import CodecResult


def codec_result(row: Result, card: Card) -> CodecResult:
    """Make the typed row of one category, over all datasets or on one, without ranks."""
    return CodecResult(
        codec=card.name,
        title=card.title,
        family=card.family,
        nominal_kbps=card.nominal_kbps,
        lossless=card.kind == "lossless",
        summary=to_summary(row),
    )
