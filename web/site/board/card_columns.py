"""Columns of what the codecs' cards say: frame rate, latency, size, year, licence, paper."""

from __future__ import annotations

from collections.abc import Callable

from codec_superb.web.report.columns import Order, RankingCell, RankingColumn
from codec_superb.web.rows import BoardRow, CardFacts
from codec_superb.web.site.board.rows import Fill
from codec_superb.web.text import MISSING, shortened, significant

_LETTERS = 60
"""Of a licence or a paper; the whole text is the cell's title."""
_FEW = 3
"""Digits of a number."""
_STATED = " As the card states, which of a codec that is not of the catalogue is its sender’s word."


def card_columns() -> list[tuple[RankingColumn, Fill]]:
    """Make the columns; a dash stands where a card says nothing, or there is no card."""
    return [
        _column("frame_rate", "Frames", "Frames per second, each with the tokens of all codebooks.", "ascending", "Hz",
                _number(lambda card: card.frame_rate)),
        _column("latency_ms", "Latency", "Algorithmic latency: the frame and the look-ahead of encoder and decoder.",
                "ascending", "ms", _number(lambda card: card.latency_ms)),
        _column("causal", "Causal", "Whether it can run on a stream.", "descending", "", _causal),
        _column("parameters", "Size", "Trained parameters in millions.", "ascending", "M",
                _number(lambda card: None if card.parameters is None else card.parameters / 1e6)),
        _column("year", "Year", "Year in which the standard or paper was first published.", "descending", "", _year),
        _column("licence", "Licence", "Licence of the implementation and its weights.", "ascending", "",
                _words(lambda card: card.licence)),
        _column("paper", "Paper", "Publication to cite.", "ascending", "", _words(lambda card: card.paper)),
    ]  # fmt: skip


def _column(key: str, label: str, text: str, best: Order, unit: str, fill: Fill) -> tuple[RankingColumn, Fill]:
    return RankingColumn(key, label, text + _STATED, best, lambda _: RankingCell(""), unit=unit), fill


def _number(of: Callable[[CardFacts], float | None]) -> Fill:
    def fill(row: BoardRow) -> RankingCell:
        value = of(row.card)
        return RankingCell(significant(value, _FEW), sort="" if value is None else repr(value))

    return fill


def _causal(row: BoardRow) -> RankingCell:
    if row.causal is None:
        return RankingCell(MISSING)
    return RankingCell("yes" if row.causal else "no", sort=str(int(row.causal)))


def _year(row: BoardRow) -> RankingCell:
    year = row.card.year
    return RankingCell(MISSING) if year is None else RankingCell(str(year), sort=str(year))


def _words(of: Callable[[CardFacts], str]) -> Fill:
    def fill(row: BoardRow) -> RankingCell:
        words = of(row.card)
        short = shortened(words, _LETTERS)
        return RankingCell(short or MISSING, sort=words, title=words if short != words else "")

    return fill
