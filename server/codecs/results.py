"""From rows of the database to the rows that pages and figures take."""

from __future__ import annotations

from math import nan

from codec_superb.base_codec.card import Card
from codec_superb.server.database.models import Result
from codec_superb.web.rows import CodecResult, Estimate


def codec_result(row: Result, card: Card) -> CodecResult:
    """Make the typed row of one category, over all datasets or on one; ranks are the leaderboard's affair."""
    return CodecResult(
        codec=card.name,
        title=card.title,
        family=card.family,
        category=row.category,  # type: ignore[arg-type]  # the check let no other category in
        kbps=nan if row.kbps is None else row.kbps,
        nominal_kbps=card.nominal_kbps,
        tokens_per_second=row.tokens_per_second,
        lossless=card.kind == "lossless",
        score=Estimate(row.score, row.low, row.high, n=row.ok, failed=row.failed),
        rank=None,
        metrics={key: Estimate(**estimate) for key, estimate in row.metrics.items()},
        datasets=tuple(row.datasets),
        clips=row.clips,
        failed=row.failed,
        complete=row.complete,
        largest_lag=row.largest_lag,
        clipped_samples=row.clipped_samples,
        encode_rtf=row.encode_rtf,
        decode_rtf=row.decode_rtf,
        compression_ratio=row.compression_ratio,
    )
