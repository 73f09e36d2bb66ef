"""Access to the published tables as typed rows: :func:`literature` reads the package's files once.

Three tables: ``table3`` (the benchmark's paper), ``tiny`` (the authors' re-run on a smaller sample), ``ultraeval``
(applications only). Values that this package computed are marked.
"""

from __future__ import annotations

from functools import cache

from codec_superb.pipeline.literature import read
from codec_superb.pipeline.literature.records import PublishedCodec, PublishedTable, TableName


@cache
def literature() -> tuple[PublishedTable, ...]:
    """Read the three tables: ``table3``, ``tiny``, ``ultraeval``."""
    table3 = read.table3()
    return (table3, read.tiny(table3), read.ultraeval())


def published_table(name: TableName) -> PublishedTable:
    """Return one table by its name."""
    return next(table for table in literature() if table.name == name)


def published_as(codec: str, family: str | None = None) -> tuple[tuple[PublishedTable, PublishedCodec], ...]:
    """Return the rows of published tables that are the configuration of a codec of the catalogue.

    With ``family`` the result is empty for a codec of another family that has the same name: names of catalogue codecs
    with a row begin with the name of their family.
    """
    if family is not None and not codec.startswith(family):
        return ()
    return tuple((table, row) for table in literature() for row in table.codecs if codec in row.runs_as)
