"""The tables that a manifest names, and those whose rows are joined to theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.described import Row, described_row, fill, option
from codec_superb.data_manifests.indexers.listing import IndexRequest
from codec_superb.data_manifests.indexers.tables import expect_type, json_row, read_json, read_lines, read_rows

_WORDS = "words"
_COMMENT = ";;"  # of NIST's stm files


class Joins:
    """The tables of the option ``join``; those that lie in each table's folder are read when a row asks for them."""

    def __init__(self, request: IndexRequest, base: Path) -> None:
        self._request, self._base = request, base
        self._on = next(iter(option(request, "on")), "")
        headers = [tuple(columns.split()) for columns in option(request, "join_columns")]
        self._tables = [
            (template, headers[place] if place < len(headers) else ())
            for place, template in enumerate(option(request, "join"))
        ]
        self._read: dict[Path, dict[str, Row]] = {}
        self._lacking: dict[str, int] = {}
        for template, header in self._tables:
            if "{" not in template:
                self._rows(base / template, header)

    def described(self, row: Row, where: str) -> Row | None:
        """Return the row with the columns of the joined tables, and what the manifest makes of all of them.

        None where it is not kept, or a joined table has no such row. Raises LayoutError as
        :func:`~codec_superb.data_manifests.indexers.described.described_row` does.
        """
        more: Row = {}
        absent: tuple[str, Row] | None = None
        for template, header in self._tables:
            path = self._base / fill(template, row, where)
            rows = self._rows(path, header)
            found = rows.get(fill(f"{{{self._on}}}", row, where))
            if found is None:
                absent = absent or (path.relative_to(self._base).as_posix(), next(iter(rows.values()), {}))
            more |= found or {}
        if absent is None:
            return described_row(self._request, {**more, **row}, where)
        name, columns = absent
        if described_row(self._without(columns), row, where) is not None:
            self._lacking[name] = self._lacking.get(name, 0) + 1
        return None

    def notes(self) -> list[str]:
        """Return a sentence for each joined table that lacked rows."""
        return [
            f"{count} {'row is' if count == 1 else 'rows are'} not in {name} and left out"
            for name, count in self._lacking.items()
        ]

    def _without(self, columns: Row) -> IndexRequest:
        """Return the request with what it keeps by other columns than these, which tells the rows that are lacking."""
        keep = (rule for rule in option(self._request, "keep") if rule.partition("=")[0].rstrip("!") not in columns)
        return replace(self._request, options={**self._request.options, "keep": tuple(keep), "make": (), "codes": ()})

    def _rows(self, path: Path, header: tuple[str, ...]) -> dict[str, Row]:
        if path not in self._read:
            rows = read_table(self._request, path, header)
            self._read[path] = {fill(f"{{{self._on}}}", row, where): row for where, row in rows}
        return self._read[path]


def read_table(request: IndexRequest, path: Path, header: tuple[str, ...]) -> Iterator[tuple[str, Row]]:
    """Yield place and row of a table; ``header`` names its columns where its first line does not.

    Raises LayoutError when it is not there, or a line makes no sense.
    """
    if path.suffix == ".json":
        content = read_json(path)
        for key in option(request, "records"):
            content = expect_type(content, dict, path, "the whole").get(key)
        for number, row in enumerate(expect_type(content, list, path, "the list of clips"), start=1):
            yield f"{path}, item {number}", expect_type(row, dict, path, f"item {number}")
    elif path.suffix == ".jsonl":
        for number, line in read_lines(path):
            yield f"{path} line {number}", json_row(line, f"{path} line {number}")
    else:
        delimiter = (option(request, "delimiter") or ("\t" if path.suffix in {".tsv", ".txt"} else ",",))[0]
        if delimiter == _WORDS:
            yield from _words(path, header)
            return
        for number, cells in read_rows(path, (), delimiter=delimiter, header=header, quoted=delimiter == ","):
            yield f"{path} line {number}", dict(cells)


def _words(path: Path, header: tuple[str, ...]) -> Iterator[tuple[str, Row]]:
    for number, line in read_lines(path):
        if line.startswith(_COMMENT):
            continue
        cells = line.split(None, len(header) - 1)
        if len(cells) != len(header):
            raise LayoutError(f"{path} line {number}: expected {len(header)} fields, got {len(cells)}")
        yield f"{path} line {number}", dict(zip(header, cells, strict=True))
