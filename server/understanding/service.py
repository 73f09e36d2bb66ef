"""Puts the page of understanding together: the codecs of the board on one dataset, and published models apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from codec_superb.applications.understanding.conversion.published import PublishedFigure
from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.literature.tables import published_table
from codec_superb.pipeline.literature.uea import BOARDS, PublishedModel, contradictions, uea_about, uea_board
from codec_superb.server.board.entries import BoardEntry, board_row, on_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import datasets_with, shown, shown_on
from codec_superb.server.errors import NotFound
from codec_superb.server.leaderboard.originals import rows_on
from codec_superb.server.leaderboard.select import rank, select_all
from codec_superb.server.published.repository import figures_of, imported
from codec_superb.web.figures.across import Across
from codec_superb.web.figures.layout import Figure
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.site.board.choices import BoardState
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.site.understanding.averages import AVERAGE, averages_table
from codec_superb.web.site.understanding.board import Listened, understanding_columns
from codec_superb.web.site.understanding.page import UnderstandingView
from codec_superb.web.site.understanding.published import imported_table
from codec_superb.web.site.whose import ShownSource, Whose
from codec_superb.web.understanding.choose import task_of
from codec_superb.web.understanding.rate import understanding_rate_chart


def view_of(
    session: Session, everything: Snapshot, dataset: str | None, source: ShownSource | None
) -> UnderstandingView:
    """Make the view of the page. Raises NotFound for a dataset without results, naming those that have some."""
    whose, snapshot = shown_on(everything, source, dataset, has_figures)
    datasets = datasets_with(snapshot, has_figures)
    names = [name for name, _ in datasets]
    if dataset is not None and dataset not in names:
        raise NotFound(f"no codec has tasks of understanding on {dataset!r}; there are {', '.join(names) or 'none'}")
    chosen = dataset or next(iter(names), "")
    codecs = _codecs_on(snapshot, chosen)
    columns = understanding_columns(codecs)
    told = [
        f"For {of.model} the README prints {of.figure.removesuffix('_accuracy_pct').upper()} {of.printed:.2f}, which "
        "contradicts its own average; the paper’s figure stands here."
        for of in contradictions()
    ]
    return UnderstandingView(
        chosen,
        datasets,
        codecs,
        columns,
        *_submitted_averages(everything, source),
        _averages(),
        uea_about(),
        told,
        imported_table(published_figures(session)),
        whose,
    )


def has_figures(entry: BoardEntry, dataset: str) -> bool:
    """Whether a codec has figures of tasks of understanding on a dataset."""
    return bool(dataset) and bool(_rows(entry, dataset))


def published_figures(session: Session) -> list[PublishedFigure]:
    """Return the figures of all imported models, by dataset, figure and model."""
    found = [figure for model in imported(session, "ultraeval") for figure in figures_of(model)]
    return sorted(found, key=lambda of: (of.dataset, of.figure, of.model, of.made))


def rate_figure(snapshot: Snapshot, figure: str, dataset: str, across: Across = "") -> Figure:
    """Draw a figure against an axis. Raises NotFound where no codec has it, naming the figures that there are."""
    codecs = _codecs_on(snapshot, dataset)
    columns = {column.quantity.key: column for column in understanding_columns(codecs)}
    if figure not in columns:
        raise NotFound(f"no codec has the figure {figure!r} on {dataset!r}; there are {', '.join(columns) or 'none'}")
    results = {result.codec: result for result, _ in codecs}
    drawn = [(results[row.codec], row) for row in columns[figure].rows]
    return understanding_rate_chart(figure, drawn, columns[figure].everything, across)


def _codecs_on(snapshot: Snapshot, dataset: str) -> list[Listened]:
    found = on_page(snapshot.having(lambda entry: bool(_rows(entry, dataset))), dataset)
    rows = rows_on(found, dataset, lambda row: task_of(row) is not None)
    return [_listened(entry, dataset, rows[entry.codec]) for entry in found]


def _rows(entry: BoardEntry, dataset: str) -> list[ApplicationRow]:
    return [row for row in entry.applications.get(dataset, {}).values() if task_of(row) is not None]


def _listened(entry: BoardEntry, dataset: str, rows: Sequence[ApplicationRow]) -> Listened:
    category = next(each for each in CATEGORIES if (each, dataset) in entry.figures)
    return board_row(entry, category, dataset, None, "").result, tuple(rows)


def _submitted_averages(everything: Snapshot, source: ShownSource | None) -> tuple[Whose, TextTable | None]:
    """Return those of submissions in the board's order; where none has a rank, what might have one stands first."""
    state = BoardState(metric=AVERAGE)
    usual: ShownSource = "verified" if everything.default_source(state.category, AVERAGE) == "verified" else "runs"
    whose, snapshot = shown(everything, source or usual, lambda entry: AVERAGE in entry.applications.get("", {}))
    ranked = rank(snapshot, state)
    frame = ranked.frame
    same = frame.combinations(AVERAGE).numbers == ranked.combination
    same &= (frame.numbers("complete") == 1) & ~ranked.apart
    equal = {entry.codec for entry, one in zip(frame.entries, same, strict=True) if one}
    rows = select_all(snapshot, state).rows
    ordered = sorted(rows, key=lambda row: (not row.result.rank, row.result.codec not in equal))
    return whose, averages_table(ordered, equal)


def _averages() -> list[tuple[str, str, TextTable]]:
    """Return title, definition and table of the three averages, as they were published."""
    table = published_table("ultraeval")
    ordered = sorted(table.codecs, key=lambda codec: -codec.applications[AVERAGE])
    lines = tuple((TextCell(codec.name), TextCell(f"{codec.applications[AVERAGE]:.2f}")) for codec in ordered)
    codecs = TextTable(table.title, (TextCell("Codec"), TextCell("Average")), lines)
    boards = [_board(uea_about()["boards"][name], uea_board(name)) for name in BOARDS]
    return [*boards, ("Codecs", table.differs[-1], codecs)]


def _board(about: Mapping[str, str], models: Sequence[PublishedModel]) -> tuple[str, str, TextTable]:
    heads = ["Model", "Average", *(name.removesuffix("_pct").replace("_", " ") for name in models[0].figures)]
    lines = tuple(
        tuple(map(TextCell, (of.model, f"{of.average:.2f}", *(f"{value:.2f}" for value in of.figures.values()))))
        for of in sorted(models, key=lambda of: -of.average)
    )
    return (
        about["title"],
        about["definition"],
        TextTable(f"{about['title']}, as published", tuple(map(TextCell, heads)), lines),
    )
