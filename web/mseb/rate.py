"""Bitrate against a figure of MSEB, with the original sound and the true transcripts as lines."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.web.application_rows import original_of
from codec_superb.web.applications import APPLICATION_METRICS
from codec_superb.web.figures.across import TITLES, Across, placed
from codec_superb.web.figures.application import Ceiling, drawn_result, with_ceilings
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.rate import rate_chart
from codec_superb.web.mseb.choose import oracle_among
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.theme import family_styles

Drawn = tuple[CodecResult, ApplicationRow]
"""A codec with one of its rows, which holds the bitrate."""


def mseb_rate_chart(
    figure: str, codecs: Sequence[Drawn], everything: Sequence[ApplicationRow], across: Across = ""
) -> Figure:
    """Draw the codecs of one comparable group: one figure on one dataset, answered by one model.

    ``everything`` holds the rows in which the oracle is looked for.
    """
    quantity = APPLICATION_METRICS[figure].quantity
    styles = family_styles(result.family for result, _ in codecs)
    drawn = [placed(drawn_result(row, result), across) for result, row in codecs]
    chart = rate_chart(drawn, quantity, styles, across=TITLES[across])
    if not codecs:
        return chart
    rows = [row for _, row in codecs]
    usual = original_of((row, row.sender) for row in rows)
    lines = [
        ("original", None if usual is None else usual.numbers.reference),
        ("true transcripts", oracle_among(rows, everything)),
    ]
    ceilings = [
        Ceiling(rows[0].model.backend, score.value, name)
        for name, score in lines
        if score is not None and score.value is not None
    ]
    return with_ceilings(chart, quantity, ceilings)
