"""The section of the report on frozen encoders: heat maps, scores against bits a second, and a table a reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codec_superb.web.figures.across import axes_with, figure_key
from codec_superb.web.figures.layout import Figure
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.xares.heat import tasks_of, xares_heat_chart
from codec_superb.web.xares.rate import xares_rate_chart
from codec_superb.web.xares.rows import readers_of, rows_of_submission, without_repetitions
from codec_superb.web.xares.table import XaresTable, xares_table


@dataclass(frozen=True, slots=True)
class XaresPanel:
    """The whole section."""

    heats: tuple[tuple[str, str], ...]
    """Key and title of each heat map: one a reader."""
    rates: tuple[tuple[str, str], ...]
    tables: tuple[tuple[str, XaresTable], ...]
    """Of each reader."""
    figures: dict[str, Figure]
    """By key, as the page's script draws them."""


def xares_panel(rows: Sequence[ApplicationRow], results: Sequence[CodecResult]) -> XaresPanel | None:
    """Put the section together; None without figures of frozen encoders."""
    codecs: dict[str, CodecResult] = {}
    for result in results:
        codecs.setdefault(result.codec, result)
    found = without_repetitions(
        row
        for codec, result in codecs.items()
        for row in rows_of_submission([of for of in rows if of.codec == codec], result, codecs, "", "")
    )
    figures: dict[str, Figure] = {}
    heats: list[tuple[str, str]] = []
    rates: list[tuple[str, str]] = []
    tables: list[tuple[str, XaresTable]] = []
    axes = axes_with(tokens=any(row.tokens_per_s for row in found))
    for number, (reader, _) in enumerate(readers_of(found)):
        own = [row for row in found if row.reader == reader]
        heats.append((f"xares-heat-{number}", reader.title))
        figures[heats[-1][0]] = xares_heat_chart(own)
        tables.append((reader.title, xares_table(own)))
        for figure, dataset in tasks_of(own):
            drawn = [row for row in own if (row.figure, row.dataset) == (figure, dataset)]
            rates.append((f"xares-rate-{len(rates)}", f"{drawn[0].quantity.title} – {dataset}, {reader.title}"))
            for across, _ in axes:
                figures[figure_key(rates[-1][0], across)] = xares_rate_chart(drawn, across)
    return XaresPanel(tuple(heats), tuple(rates), tuple(tables), figures) if found else None
