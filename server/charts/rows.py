"""Rows of the snapshot as the charts need them."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.metrics.table import Category
from codec_superb.pipeline.literature.records import TABLES
from codec_superb.pipeline.literature.tables import published_table
from codec_superb.server.board.entries import board_row
from codec_superb.server.board.snapshot import ResultFrame, Snapshot
from codec_superb.server.leaderboard.select import source_labels
from codec_superb.web.rows import BoardRow
from codec_superb.web.site.board.choices import SourceFilter
from codec_superb.web.site.board.words import SOURCES


def rows_of(frame: ResultFrame) -> list[BoardRow]:
    """Make a row for each codec of the frame, without ranks."""
    return [board_row(entry, frame.category, frame.dataset, None, "") for entry in frame.entries]


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
