"""Puts the page of MSEB together: the codecs of the board on one dataset, and published encoders apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from sqlalchemy.orm import Session

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.literature.mseb import (
    LOWER_IS_BETTER,
    MsebSummary,
    mseb_about,
    mseb_reconstruction,
    mseb_rows,
    summaries,
    super_task_of,
)
from codec_superb.server.board.entries import BoardEntry, board_row, on_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import datasets_with
from codec_superb.server.errors import NotFound
from codec_superb.server.leaderboard.originals import rows_on
from codec_superb.server.published.repository import imported, mseb_rows_of
from codec_superb.web.figures.across import Across
from codec_superb.web.figures.layout import Figure
from codec_superb.web.mseb.choose import is_mseb
from codec_superb.web.mseb.rate import mseb_rate_chart
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.site.mseb.board import Measured, TaskColumn, task_columns
from codec_superb.web.site.mseb.page import MsebSource, MsebView, Reconstruction
from codec_superb.web.site.mseb.published import (
    PublishedLine,
    PublishedTask,
    ReconstructionLine,
    reconstruction_table,
)
from codec_superb.web.site.whose import Whose


def view_of(session: Session, snapshot: Snapshot, dataset: str | None, whose: Whose) -> MsebView:
    """Make the view of the page. Raises NotFound for a dataset without results, naming those that have some."""
    datasets = datasets_with(snapshot, has_figures)
    chosen = _chosen(datasets, dataset)
    codecs = codecs_on(snapshot, chosen)
    return MsebView(
        dataset=chosen,
        datasets=datasets,
        codecs=codecs,
        columns=task_columns(codecs),
        published=published_tasks(session),
        source=_source(),
        reconstruction=_reconstruction(),
        whose=whose,
    )


def has_figures(entry: BoardEntry, dataset: str) -> bool:
    """Whether a codec has figures of MSEB on a dataset, '' for all locales."""
    return bool(_rows(entry, dataset))


def codecs_on(snapshot: Snapshot, dataset: str) -> list[Measured]:
    """Return the codecs with figures of MSEB on the usual state of a dataset, each with the bitrate measured there."""
    found = on_page(snapshot.having(lambda entry: has_figures(entry, dataset)), dataset)
    rows = rows_on(found, dataset, lambda row: is_mseb(row) and row.numbers.dataset == dataset)
    return [_measured(entry, dataset, rows[entry.codec]) for entry in found]


def rate_of(rows: Sequence[ApplicationRow]) -> float | None:
    """Return the bitrate of a codec's figures; None where it is not known, and where they are of sound at several."""
    rates = {row.kbps for row in rows if not isnan(row.kbps)}
    return rates.pop() if len(rates) == 1 else None


def rate_figure(snapshot: Snapshot, figure: str, dataset: str, across: Across = "") -> Figure:
    """Draw a figure against an axis. Raises NotFound where no codec has it, naming the figures that there are."""
    codecs = codecs_on(snapshot, dataset)
    columns = {column.quantity.key: column for column in task_columns(codecs)}
    if figure not in columns:
        raise NotFound(f"no codec has the figure {figure!r} on {dataset!r}; there are {', '.join(columns) or 'none'}")
    results = {result.codec: result for result, _ in codecs}
    drawn = [(results[row.codec], row) for row in columns[figure].rows]
    return mseb_rate_chart(figure, drawn, [row for _, rows in codecs for row in rows], across)


def columns_on(snapshot: Snapshot, dataset: str | None) -> tuple[str, Sequence[Measured], tuple[TaskColumn, ...]]:
    """Return the dataset, its codecs and the super tasks that they have. Raises NotFound as :func:`view_of`."""
    chosen = _chosen(datasets_with(snapshot, has_figures), dataset)
    codecs = codecs_on(snapshot, chosen)
    return chosen, codecs, task_columns(codecs)


def published_summaries(session: Session, *, main_only: bool = False) -> list[tuple[MsebSummary, str]]:
    """Return the means of all published encoders with the source of imported ones, '' of those of the program.

    Of all metrics, or of the main one of each task.
    """
    more = imported(session, "mseb")
    sources = {encoder.name: encoder.source for encoder in more}
    rows = [*mseb_rows(), *(row for encoder in more for row in mseb_rows_of(encoder))]
    found = summaries(rows, main_only=main_only)
    return [(each, sources.get(each.encoder, "")) for each in found]


def published_tasks(session: Session) -> list[PublishedTask]:
    """Return a table a task of the main metrics of all published encoders."""
    groups: dict[tuple[str, str, str, str], list[PublishedLine]] = {}
    for each, source in published_summaries(session, main_only=True):
        key = (super_task_of(each.type), each.task, each.sub_task, each.metric)
        groups.setdefault(key, []).append(_published_line(each, source))
    order = {task: place for place, task in enumerate(mseb_about()["tasks"])}
    return [
        PublishedTask(super_task, _label(task, part), metric, metric not in LOWER_IS_BETTER, tuple(lines))
        for (super_task, task, part, metric), lines in sorted(
            groups.items(), key=lambda item: (order.get(item[0][1], len(order)), item[0][1:])
        )
    ]


def _chosen(datasets: Sequence[tuple[str, int]], dataset: str | None) -> str:
    names = [name for name, _ in datasets]
    if dataset is None:
        return names[0] if names else ""
    if dataset not in names:
        raise NotFound(
            f"no codec has results of MSEB on {dataset!r}; there are {', '.join(filter(None, names)) or 'none'}"
        )
    return dataset


def _rows(entry: BoardEntry, dataset: str) -> list[ApplicationRow]:
    rows = entry.applications.get(dataset, {}).values()
    return [row for row in rows if is_mseb(row) and row.numbers.dataset == dataset]


def _measured(entry: BoardEntry, dataset: str, rows: Sequence[ApplicationRow]) -> Measured:
    results: list[CodecResult] = [
        board_row(entry, category, dataset, None, "").result
        for category in CATEGORIES
        if (category, dataset) in entry.figures
    ]
    return results[0], tuple(rows)


def _published_line(each: MsebSummary, source: str) -> PublishedLine:
    about = mseb_about()["encoders"].get(each.encoder, {"title": each.encoder, "kind": ""})
    return PublishedLine(
        about["title"], about["kind"], source, each.mean, each.lowest, each.highest, each.n, each.missing
    )


def _label(task: str, part: str) -> str:
    label = str(mseb_about()["tasks"].get(task, {}).get("label", task))
    base, _, condition = part.partition(":")
    if condition:
        return f"{label}, {condition.replace('_', ' ')}"
    return f"{label}, {base.replace('_', ' ')}" if base.startswith("speaker_") else label


def _source() -> MsebSource:
    about = mseb_about()
    return MsebSource(about["label"], about["citation"], about["url"], about["date"], about["differs"])


def _reconstruction() -> Reconstruction:
    about = mseb_about()["reconstruction"]
    lines = [
        ReconstructionLine(f"{row.dataset}, {row.condition.replace('_', ' ')}", row.mean_fad, row.lowest, row.highest)
        for row in mseb_reconstruction()
    ]
    return Reconstruction(about["statement"], about["differs"], reconstruction_table(about["label"], lines))
