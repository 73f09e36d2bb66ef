"""Rows of the snapshot as the charts need them."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.metrics.table import Category
from codec_superb.pipeline.literature.records import TABLES
from codec_superb.pipeline.literature.tables import published_table
from codec_superb.server.board.entries import board_row
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.leaderboard.select import Ranked, source_labels
from codec_superb.web.application_rows import parts_of
from codec_superb.web.rows import BoardRow
from codec_superb.web.senders import StateVote, usual_state
from codec_superb.web.site.board.choices import SourceFilter
from codec_superb.web.site.board.words import SOURCES


def rows_of(ranked: Ranked) -> list[BoardRow]:
    """Make a row for each codec of a frame, without ranks, marked where it rests on what is ranked."""
    frame = ranked.frame
    usual = frame.combinations(ranked.key).numbers == ranked.combination
    return [
        board_row(entry, frame.category, frame.dataset, None, "", usual=bool(one))
        for entry, one in zip(frame.entries, usual, strict=True)
    ]


def on_usual_states(rows: Sequence[BoardRow], key: str) -> list[BoardRow]:
    """Return the rows whose figure of an application is on the ranked state of its dataset, or what most senders have.

    Of a published table there is one state. What is left out has other clips, or labels, under the same name.
    """
    usual: dict[str, tuple[str | None, ...]] = {}
    for dataset in {row.applications[key].numbers.dataset for row in rows}:
        there = [row for row in rows if row.applications[key].numbers.dataset == dataset and not _of_table(row, key)]
        ranked = [row for row in there if row.result.usual]
        if ranked:
            usual[dataset] = _state(ranked[0], key)
        elif there:
            usual[dataset] = usual_state(
                StateVote(
                    _state(row, key), row.result.sender, row.result.codec, row.result.summary.complete,
                    row.source == "verified" and row.applications[key].run_again is True,
                )
                for row in there
            )  # fmt: skip
    return [
        row for row in rows
        if _of_table(row, key) or _state(row, key) == usual[row.applications[key].numbers.dataset]
    ]  # fmt: skip


def _of_table(row: BoardRow, key: str) -> bool:
    """Whether a figure is of a published table, also where a submission's row takes it over."""
    return row.source == "published" or row.applications[key].codec != row.result.codec


def _state(row: BoardRow, key: str) -> tuple[str | None, ...]:
    """Return the states of the datasets that take part in a figure, however many others were run."""
    parts = parts_of(row.applications[key].numbers, row.result.summary.datasets)
    return tuple(map(row.result.states.get, sorted({name for name, _ in parts})))


def source_text(source: SourceFilter) -> str:
    """Describe the source of figures, with the citation of a published table."""
    said = SOURCES[source]
    cited = [published_table(table).citation for table in TABLES if table == source]
    return f"{said} {cited[0]}" if cited else said


def source_choices(snapshot: Snapshot) -> list[tuple[SourceFilter, str]]:
    """List the sources that have codecs, with labels."""
    return [(key, label) for key, label in source_labels() if len(snapshot.entries(key))]


def datasets_with(snapshot: Snapshot, source: SourceFilter, category: Category) -> Sequence[str]:
    """List the datasets on which a codec of the source has figures of the category."""
    return snapshot.datasets(source, category)
