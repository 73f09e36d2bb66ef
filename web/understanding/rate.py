"""Bitrate against the main figure of a task, with the original sound and guessing as lines."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.web.application_rows import original_of
from codec_superb.web.applications import application_of
from codec_superb.web.figures.across import TITLES, Across, placed
from codec_superb.web.figures.application import Ceiling, drawn_result, with_ceilings
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.rate import rate_chart
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.theme import family_styles
from codec_superb.web.understanding.choose import chance_of


def understanding_rate_chart(
    figure: str,
    codecs: Sequence[tuple[CodecResult, ApplicationRow]],
    everything: Sequence[ApplicationRow],
    across: Across = "",
) -> Figure:
    """Draw the codecs of one comparable group: one figure on one dataset, answered by one chat.

    ``everything`` holds the rows in which what guessing gives is looked for.
    """
    quantity = application_of(figure).quantity
    styles = family_styles(result.family for result, _ in codecs)
    drawn = [placed(drawn_result(row, result), across) for result, row in codecs]
    chart = rate_chart(drawn, quantity, styles, across=TITLES[across])
    if not codecs:
        return chart
    usual = original_of((row, row.sender) for _, row in codecs)
    if usual is None:
        return chart
    lines = [("original", usual.numbers.reference.value), ("chance", chance_of(usual, everything))]
    ceilings = [Ceiling(usual.model.backend, value, name) for name, value in lines if value is not None]
    return with_ceilings(chart, quantity, ceilings)
