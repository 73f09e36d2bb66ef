"""Renders the page of bitrate bands and aggregated ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from codec_superb.web.site.page import PageContext, render
from codec_superb.web.site.ranking.view import BandsAnswer, RankingAnswer, UnrankedCodec

MOST_ROWS = 100
"""Codecs that the page shows; the API has all."""
MOST_NAMED = 4
"""Codecs of a band, or of one reason, that are named beside their number."""


def ranking_page(
    bands: BandsAnswer,
    ranking: RankingAnswer,
    page_context: PageContext,
    *,
    aspects: Mapping[str, str],
    bands_offered: Sequence[tuple[str, str]],
    most: float,
) -> str:
    """Render the page; ``aspects`` are labels by parameter, ``most`` is the largest weight."""
    used = [name for name, weight in ranking.weights.items() if weight > 0]
    return render(
        "ranking.html.j2",
        page_context,
        bands=bands,
        lines=list(zip(*(category.bands for category in bands.categories), strict=True)),
        ranking=ranking,
        codecs=ranking.codecs[:MOST_ROWS],
        aspects=aspects,
        used=used,
        bands_offered=bands_offered,
        most=most,
        named=MOST_NAMED,
        unranked=by_reason(ranking.unranked),
    )


def by_reason(unranked: Sequence[UnrankedCodec]) -> list[tuple[str, list[str]]]:
    """Put codecs that take no part for the same reason together, the most first."""
    ordered = sorted(unranked, key=lambda each: (each.reason, each.codec))
    groups = [(reason, [each.codec for each in group]) for reason, group in groupby(ordered, lambda each: each.reason)]
    return sorted(groups, key=lambda group: (-len(group[1]), group[0]))
