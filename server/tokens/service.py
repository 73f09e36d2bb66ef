"""Puts the page of tokens together: the codecs of the board on one dataset, and published perplexities apart."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.literature.audiocodecbench import PublishedPerplexity, perplexities, perplexities_about
from codec_superb.server.board.entries import BoardEntry, board_row, on_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import datasets_with
from codec_superb.server.errors import NotFound
from codec_superb.server.leaderboard.originals import rows_on
from codec_superb.web.application_rows import at_rates_of
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.token_contents import PHONES, contents_chart, contents_points
from codec_superb.web.figures.tokens import ENTROPY, tokens_chart
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.site.tokens.board import ENTROPY_KBPS, Tokens, columns, is_of_tokens
from codec_superb.web.site.tokens.page import TokensView
from codec_superb.web.site.tokens.settings import Asked, asked_alike, tell_others
from codec_superb.web.site.whose import Whose
from codec_superb.web.text import MISSING


def view_of(snapshot: Snapshot, dataset: str | None, whose: Whose) -> TokensView:
    """Make the view of the page. Raises NotFound for a dataset without results, naming those that have some."""
    datasets = datasets_with(snapshot, has_figures)
    names = [name for name, _ in datasets]
    if dataset is not None and dataset not in names:
        raise NotFound(f"no codec has figures of tokens on {dataset!r}; there are {', '.join(names) or 'none'}")
    chosen = dataset or next(iter(names), "")
    about = perplexities_about()
    tables = [(of["title"], of["definition"], _published(name)) for name, of in about["tables"].items()]
    apart = dict(datasets).get(chosen, 0) - len(_on(snapshot, chosen))
    return TokensView(chosen, datasets, apart, _asked_on(snapshot, chosen), tables, about, whose)


def has_figures(entry: BoardEntry, dataset: str) -> bool:
    """Whether a codec has figures of tokens on a dataset."""
    return bool(dataset) and any(map(is_of_tokens, entry.applications.get(dataset, {}).values()))


def rate_figure(snapshot: Snapshot, figure: str, across: str, dataset: str) -> Figure:
    """Draw a figure against an axis. Raises NotFound where no codec has it, naming the figures that there are."""
    asked = _asked_on(snapshot, dataset)
    codecs = asked.codecs
    there = columns(codecs)
    if figure not in there:
        raise NotFound(f"no codec has the figure {figure!r} on {dataset!r}; there are {', '.join(there) or 'none'}")
    entropy = {
        result.codec: value
        for result, rows in codecs
        if ENTROPY_KBPS in rows and (value := rows[ENTROPY_KBPS].numbers.resynthesis.value) is not None
    }
    drawn = [(result, rows[figure]) for result, rows in codecs if figure in rows]
    shown = (figure, ENTROPY_KBPS) if across == ENTROPY else (figure,)
    return tell_others(tokens_chart(figure, across, drawn, entropy), asked.others, shown)


def contents_figure(snapshot: Snapshot, dataset: str) -> Figure:
    """Draw phones told against speakers told. Raises NotFound where no codec has both."""
    asked = _asked_on(snapshot, dataset)
    points = contents_points(asked.codecs)
    if not points:
        raise NotFound(f"no codec has phones and speakers told by its tokens on {dataset!r}; probe tokens.contents")
    return tell_others(contents_chart(points), asked.others, (PHONES,))


def _on(snapshot: Snapshot, dataset: str) -> list[BoardEntry]:
    return on_page(snapshot.having(lambda entry: has_figures(entry, dataset)), dataset)


def _asked_on(snapshot: Snapshot, dataset: str) -> Asked:
    entries = _on(snapshot, dataset)
    rows = rows_on(entries, dataset, is_of_tokens)
    return asked_alike([_of(entry, dataset, rows[entry.codec]) for entry in entries])


def _of(entry: BoardEntry, dataset: str, rows: Sequence[ApplicationRow]) -> Tokens:
    category = next(each for each in CATEGORIES if (each, dataset) in entry.figures)
    result = board_row(entry, category, dataset, None, "").result
    return at_rates_of(rows[0], result), {row.numbers.figure: row for row in rows}


def _published(name: str) -> TextTable:
    rows = perplexities(name)
    books = max(len(row.codebooks) for row in rows)
    heads = ("Codec", "Perplexity", *(f"Codebook {book}" for book in range(1, books + 1)))
    lines = tuple(_line(row, books) for row in sorted(rows, key=lambda row: row.perplexity))
    return TextTable(f"{name}, as published", tuple(map(TextCell, heads)), lines)


def _line(row: PublishedPerplexity, books: int) -> tuple[TextCell, ...]:
    each = [f"{value:g}" for value in row.codebooks] + [MISSING] * (books - len(row.codebooks))
    return tuple(map(TextCell, (row.codec, f"{row.perplexity:g}", *each)))
