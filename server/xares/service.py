"""Puts the page of XARES together: submitted rows, imported records, and the published boards apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.literature.xares import (
    HIDDEN,
    TRACKS,
    TrackName,
    xares_about,
    xares_average,
    xares_baselines,
    xares_board,
)
from codec_superb.server.board.entries import BoardEntry, board_row, on_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import datasets_with, shown
from codec_superb.server.errors import NotFound
from codec_superb.server.leaderboard.originals import rows_on
from codec_superb.server.names.skeleton import skeleton
from codec_superb.server.published.repository import imported, xares_result_of
from codec_superb.web.figures.across import Across
from codec_superb.web.figures.layout import Figure
from codec_superb.web.rows import CodecResult
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.site.whose import ShownSource, Whose
from codec_superb.web.site.xares.page import PublishedTrack, XaresView
from codec_superb.web.xares.heat import published_heat_chart, xares_heat_chart
from codec_superb.web.xares.rate import xares_rate_chart
from codec_superb.web.xares.rows import (
    Reader,
    XaresRow,
    is_current,
    readers_of,
    rows_of_result,
    rows_of_submission,
    without_repetitions,
    xares_probe,
)

Measured = tuple[BoardEntry, str, CodecResult]
"""A codec, a dataset with figures of frozen encoders, and the codec as it was measured there."""
_DIFFERS = 0.15
"""Percent: two means that are rounded before they are added differ by at most a digit of the last place."""


def rows_of(session: Session, snapshot: Snapshot) -> list[XaresRow]:
    """Return all rows, submitted and imported."""
    everything = _measured(snapshot)
    measured = _on_usual_states(everything)
    codecs = {entry.codec: result for entry, _, result in (*everything, *measured)}
    rows = {
        of: rows_on([entry for entry, name, _ in measured if name == of], of, lambda row: xares_probe(row) is not None)
        for of in {name for _, name, _ in measured}
    }
    found = [
        row
        for entry, dataset, result in measured
        for row in rows_of_submission(
            rows[dataset][entry.codec], result, codecs, entry.source_label, f"/codecs/{entry.codec}"
        )
    ]
    for each in imported(session, "xares"):
        found += rows_of_result(xares_result_of(each), f"imported: {each.source}")
    return without_repetitions(found, skeleton)


def has_figures(entry: BoardEntry) -> bool:
    """Whether a codec has figures of frozen encoders."""
    return any(xares_probe(row) for rows in entry.applications.values() for row in rows.values())


def shown_by(
    session: Session, snapshot: Snapshot, source: ShownSource | None, reader: str | None
) -> tuple[Whose, Snapshot]:
    """Return what the page shows, and its submissions: all of them where what was run again lacks the reader."""
    whose, found = shown(snapshot, source, has_figures)
    if source is not None or reader is None or reader in {of.title for of, _ in readers_of(rows_of(session, found))}:
        return whose, found
    whose, found = shown(snapshot, "runs", has_figures)
    return replace(whose, asked=False), found


def _measured(snapshot: Snapshot) -> list[Measured]:
    def on(name: str) -> Sequence[BoardEntry]:
        return snapshot.having(lambda entry: _has_figures_on(entry, name))

    names = sorted(name for name, _ in datasets_with(snapshot, _has_figures_on))
    return [(entry, name, _result(entry, name)) for name in names for entry in on(name)]


def _on_usual_states(measured: Sequence[Measured]) -> list[Measured]:
    of_datasets: dict[str, list[BoardEntry]] = {}
    for entry, name, _ in measured:
        of_datasets.setdefault(name, []).append(entry)
    return [(entry, name, _result(entry, name)) for name, own in of_datasets.items() for entry in on_page(own, name)]


def view_of(session: Session, snapshot: Snapshot, reader: str | None, whose: Whose) -> XaresView:
    """Make the view of the page. Raises NotFound for a reader without results, naming those that have some."""
    found = rows_of(session, snapshot)
    readers = readers_of(found)
    chosen = chosen_of(readers, reader)
    measured = _measured(snapshot)
    outdated = sum(not is_current(of) for each in imported(session, "xares") for of in xares_result_of(each).figures)
    return XaresView(
        chosen, readers, [row for row in found if row.reader == chosen], outdated,
        len({(entry.codec, of) for entry, of, _ in measured}) - len(_on_usual_states(measured)),
        [_published(track) for track in TRACKS], xares_about(), whose,
    )  # fmt: skip


def chosen_of(readers: Sequence[tuple[Reader, int]], title: str | None) -> Reader | None:
    """Return the reader of a title, the first without one. Raises NotFound."""
    if title is None:
        return readers[0][0] if readers else None
    for reader, _ in readers:
        if reader.title == title:
            return reader
    raise NotFound(f"nothing was read by {title!r}; there are {'; '.join(of.title for of, _ in readers) or 'none'}")


def heat_figure(session: Session, snapshot: Snapshot, reader: str) -> Figure:
    """Draw all tasks of a reader. Raises NotFound."""
    found = rows_of(session, snapshot)
    chosen = chosen_of(readers_of(found), reader)
    return xares_heat_chart([row for row in found if row.reader == chosen])


def rate_figure(
    session: Session, snapshot: Snapshot, reader: str, figure: str, dataset: str, across: Across = ""
) -> Figure:
    """Draw a task of a reader against bits or tokens a second. Raises NotFound, naming the figures that there are."""
    found = rows_of(session, snapshot)
    chosen = chosen_of(readers_of(found), reader)
    own = [row for row in found if row.reader == chosen]
    drawn = [row for row in own if (row.figure, row.dataset) == (figure, dataset)]
    if not drawn:
        there = sorted({f"{row.figure} on {row.dataset}" for row in own})
        raise NotFound(f"nothing has the figure {figure!r} on {dataset!r}; there are {', '.join(there)}")
    return xares_rate_chart(drawn, across)


def published_figure(track: TrackName) -> Figure:
    """Draw a published board by task, the best average first, below it the baselines."""
    teams = {of.model: of.figures for of in sorted(xares_board(track), key=lambda of: -of.average)}
    found = {**teams, **xares_baselines(track)}
    return published_heat_chart({name: {_head(task): own[task] for task in own} for name, own in found.items()})


def _head(task: str) -> str:
    """Name a column; two of track B are means over tasks."""
    return f"mean, {task}" if task in {"public", HIDDEN} else task.replace("_", " ")


def _has_figures_on(entry: BoardEntry, dataset: str) -> bool:
    return bool(dataset) and any(xares_probe(row) for row in entry.applications.get(dataset, {}).values())


def _result(entry: BoardEntry, dataset: str) -> CodecResult:
    """Return the codec as it was measured on a dataset."""
    category = next(each for each in CATEGORIES if (each, dataset) in entry.figures)
    return board_row(entry, category, dataset, None, "").result


def _published(track: TrackName) -> PublishedTrack:
    about = xares_about()
    board, rows = about["boards"][track], sorted(xares_board(track), key=lambda of: -of.average)
    heads = ["Encoder of", "Average", *map(_head, rows[0].figures)]
    lines = tuple(
        tuple(map(TextCell, (of.model, f"{of.average:.1f}", *(f"{value:.1f}" for value in of.figures.values()))))
        for of in rows
    )
    computed = {of.model: xares_average(track, of.figures) for of in rows}
    notes = [
        f"The average of {of.model} is printed as {of.average:.1f}; its row gives {computed[of.model]:.1f}."
        for of in rows
        if abs(computed[of.model] - of.average) > _DIFFERS
    ]
    title = f"{board['title']}, as published"
    return PublishedTrack(
        track, board["title"], board["definition"], TextTable(title, tuple(map(TextCell, heads)), lines),
        _baselines(track, title), [*notes, *([about["baselines"]["contradiction"]] if track == "b" else [])],
    )  # fmt: skip


def _baselines(track: TrackName, title: str) -> TextTable:
    found = xares_baselines(track)
    tasks = list(next(iter(found.values())))
    heads = ("Baseline", "Mean", *map(_head, tasks))
    lines = tuple(
        tuple(map(TextCell, (name, f"{xares_average(track, own):.1f}", *(f"{own[task]:.1f}" for task in tasks))))
        for name, own in found.items()
    )
    return TextTable(f"{title}: baselines on public tasks", tuple(map(TextCell, heads)), lines)
