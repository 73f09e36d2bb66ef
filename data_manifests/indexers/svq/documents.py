"""The indexes of retrieval: documents by id, title and text, in the order of their ids whatever file they lie in."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.indexers.svq.tables import Folder, Row, text_of

_ROWS_AT_ONCE = 4096
_FIELDS = ("id", "title", "text")
_PUBLISHED = ("title", "context", "text")


class Documents(Iterable[CollectionRow]):
    """One index table, kept as compact Arrow columns: hundreds of thousands of passages are sorted in memory.

    ``id_column`` names the documents; the text is the column ``context``, or ``text``. A document that comes twice is
    taken once; one without text is left out and counted in :attr:`without_text`.
    """

    def __init__(self, folder: Folder, table: str, id_column: str) -> None:
        self._folder = folder
        self._table = table
        self._id = id_column
        self.without_text = 0

    def __iter__(self) -> Iterator[CollectionRow]:
        """Yield the documents. Raises LayoutError for a table that lacks a column."""
        before: tuple[str, ...] | None = None
        for start in range(0, len(self._sorted), _ROWS_AT_ONCE):
            columns = self._columns.take(self._sorted.slice(start, _ROWS_AT_ONCE)).to_pydict()
            for document in zip(*(columns[name] for name in _FIELDS), strict=True):
                if document != before:
                    yield CollectionRow(id=document[0], title=document[1], text=document[2])
                before = document

    def ids(self) -> set[str]:
        """Return the ids of all documents."""
        return set(self._columns["id"].to_pylist())

    @cached_property
    def _sorted(self) -> Any:
        import pyarrow.compute as pc

        return pc.sort_indices(self._columns, sort_keys=[(name, "ascending") for name in _FIELDS])

    @cached_property
    def _columns(self) -> Any:
        import pyarrow as pa

        # large: one chunk may pass the 2 GiB that 32-bit offsets reach
        schema = pa.schema([(name, pa.large_string()) for name in _FIELDS])
        rows = (self._document(where, row) for _, where, row in self._folder.rows(self._table, (self._id,), _PUBLISHED))
        kept = (document for document in rows if document is not None)
        batches = iter(lambda: list(itertools.islice(kept, _ROWS_AT_ONCE)), [])
        tables = [pa.table([list(column) for column in zip(*batch, strict=True)], schema=schema) for batch in batches]
        return pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()

    def _document(self, where: str, row: Row) -> tuple[str, str, str] | None:
        name = text_of(row[self._id], where, self._id)
        text = text_of(row.get("context"), where, "context") or text_of(row.get("text"), where, "text")
        if not text.strip():
            self.without_text += 1
            return None
        return name, text_of(row.get("title"), where, "title"), text
